// What `weft validate` says: errors by kind of case, whether the choices were right, and the targets.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "tools/accuracy.hpp"
#include "tools/accuracy_targets.hpp"
#include "tools/questions.hpp"

namespace weft::tools {

struct AccuracyTable {
  std::string by;
  std::vector<std::pair<std::string, Accuracy>> rows;
};

struct AccuracyReport {
  std::vector<AccuracyTable> tables;  ///< the last: all cases
  std::vector<Speedup> speedups;
  std::vector<Regret> regrets;
};

AccuracyReport report_of(const std::vector<MeasuredCase>& measured, const std::vector<Comparison>& comparisons,
                         const Machine& machine);

std::ostream& operator<<(std::ostream& out, const AccuracyReport& report);
nlohmann::ordered_json to_json(const AccuracyReport& report);

void print_targets(std::ostream& out, const std::vector<TargetResult>& results);
nlohmann::ordered_json to_json(const std::vector<TargetResult>& results);

}  // namespace weft::tools
