// How far predictions are from measurements: errors by kind of case, and whether the choices were right.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "calibration/evidence/accuracy.hpp"
#include "calibration/evidence/accuracy_targets.hpp"
#include "calibration/evidence/contests.hpp"
#include "calibration/evidence/odds_check.hpp"

namespace weft::calibration::evidence {

struct AccuracyTable {
  std::string by;
  std::vector<std::pair<std::string, Accuracy>> rows;
};

/// One number about choices: a share of so many.
struct Fact {
  std::string key, text;
  std::size_t count = 0;
  double share = 0;
};

struct AccuracyReport {
  std::vector<AccuracyTable> tables;  ///< the last: all cases
  std::vector<Fact> facts;            ///< those that there is something to say about
  std::array<OddsBin, 10> odds{};     ///< of the overlapped schedules, by their probability to be faster than serial
};

AccuracyReport report_of(const std::vector<MeasuredCase>& measured, const std::vector<Comparison>& comparisons,
                         const Machine& machine);

/// {"accuracy": {BY: {NAME: {"cases", "mean_error", …}}}, "choice": {KEY: {"of", "share"}}, "odds": [{"cases",
/// "predicted", "measured"}]}, all shares.
nlohmann::ordered_json to_json(const AccuracyReport& report);
/// [{"what", "statistic", "cases", "reached_percent", "bound", "target_percent", "is_met"}], of targets with cases.
nlohmann::ordered_json to_json(const std::vector<TargetResult>& results);

}  // namespace weft::calibration::evidence
