// What `weft validate` says: errors by kind of case, whether the choices were right, and the targets.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "calibration/evidence/accuracy.hpp"
#include "calibration/evidence/accuracy_targets.hpp"
#include "calibration/evidence/contests.hpp"
#include "tools/rooms.hpp"

namespace weft::tools::report {

struct AccuracyTable {
  std::string by;
  std::vector<std::pair<std::string, evidence::Accuracy>> rows;
};

struct AccuracyReport {
  std::vector<AccuracyTable> tables;  ///< the last: all cases
  std::vector<evidence::Speedup> speedups;
  std::vector<evidence::Regret> regrets;
};

AccuracyReport report_of(const std::vector<evidence::MeasuredCase>& measured,
                         const std::vector<evidence::Comparison>& comparisons, const Machine& machine);

std::ostream& operator<<(std::ostream& out, const AccuracyReport& report);
nlohmann::ordered_json to_json(const AccuracyReport& report);

void print_targets(std::ostream& out, const std::vector<evidence::TargetResult>& results);
nlohmann::ordered_json to_json(const std::vector<evidence::TargetResult>& results);

}  // namespace weft::tools::report
