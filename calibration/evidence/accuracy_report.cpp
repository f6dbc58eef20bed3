#include "calibration/evidence/accuracy_report.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "calibration/evidence/duration_ratio.hpp"
#include "models/base/statistics.hpp"
#include "scenarios/study/odds.hpp"

namespace weft::calibration::evidence {
namespace {

using nlohmann::ordered_json;

AccuracyTable table_of(const std::string& by, const Groups& groups) {
  AccuracyTable table{by, {}};
  for (const auto& [name, some] : groups) table.rows.emplace_back(name, accuracy_of(some));
  return table;
}

ordered_json json_of(const Accuracy& accuracy) {
  return {{"cases", accuracy.cases},
          {"mean_error", accuracy.mean},
          {"median_error", accuracy.median},
          {"p90_error", accuracy.p90},
          {"p99_error", accuracy.p99},
          {"max_error", accuracy.maximum},
          {"bias", accuracy.bias},
          {"noise", accuracy.noise},
          {"interval_coverage", accuracy.coverage},
          {"interval_half_width", accuracy.half_width}};
}

double p90(const std::vector<double>& values) { return quantile(values, 0.9); }

/// Those that there is something to say about.
std::vector<Fact> facts_of(const std::vector<Speedup>& speedups, const std::vector<Regret>& regrets,
                           const std::vector<double>& of_advice) {
  std::vector<double> errors, of_choice, of_serial, negligible;
  for (const Speedup& one : speedups) errors.push_back(std::abs(one.error()));
  for (const Regret& one : regrets) {
    of_choice.push_back(one.of_choice);
    of_serial.push_back(one.of_serial);
    negligible.push_back(one.is_negligible() ? 1 : 0);
  }
  std::vector<Fact> facts;
  const auto add = [&](const std::string& key, const std::string& text, const std::vector<double>& values,
                       double (*statistic)(const std::vector<double>&) = mean) {
    if (!values.empty()) facts.push_back({key, text, values.size(), statistic(values)});
  };
  add("mean_speedup_error", "error of the speedup over serial, mean", errors);
  add("p90_speedup_error", "error of the speedup over serial, p90", errors, p90);
  add("right_sign_beyond_2_percent", "speedups beyond 2 % whose sign is right", right_signs_beyond(0.02, speedups));
  add("right_sign_beyond_5_percent", "speedups beyond 5 % whose sign is right", right_signs_beyond(0.05, speedups));
  add("mean_regret", "slower than the best: the schedule predicted fastest, mean", of_choice);
  add("p90_regret", "slower than the best: the schedule predicted fastest, p90", of_choice, p90);
  add("mean_regret_of_advice", "slower than the best: the advised schedule, mean", of_advice);
  add("mean_regret_of_serial", "slower than the best: always serial, mean", of_serial);
  add("negligible_regret", "schedules predicted fastest that are within 1 % and the noise of the best", negligible);
  return facts;
}

}  // namespace

AccuracyReport report_of(const std::vector<MeasuredCase>& measured, const std::vector<Comparison>& comparisons,
                         const Machine& machine) {
  DurationRatios ratios(measured, machine);
  const std::vector<Contest> contests = contests_of(comparisons);
  const bool is_known = scenarios::study::is_measured(machine);
  return {{table_of("op", grouped(comparisons, op_name)),
           table_of("family", grouped(comparisons, family_name)),
           table_of("GPUs", grouped(comparisons, gpus_name)),
           table_of("overlapped, GEMM / collective alone",
                    grouped(comparisons, [&](const Comparison& one) { return ratios.class_of(one); })),
           table_of("op | family | GPUs", grouped(comparisons, stratum_name)),
           {"all", {{"all", accuracy_of(comparisons)}}}},
          facts_of(speedups_of(contests), regrets_of(contests), regrets_of_advice(contests, is_known)),
          odds_bins(contests, is_known)};
}

ordered_json to_json(const AccuracyReport& report) {
  ordered_json json;
  for (const AccuracyTable& table : report.tables)
    for (const auto& [name, accuracy] : table.rows) json["accuracy"][table.by][name] = json_of(accuracy);
  for (const Fact& fact : report.facts) json["choice"][fact.key] = {{"of", fact.count}, {"share", fact.share}};
  for (const OddsBin& bin : report.odds)
    json["odds"].push_back({{"cases", bin.cases}, {"predicted", bin.predicted}, {"measured", bin.measured}});
  return json;
}

ordered_json to_json(const std::vector<TargetResult>& results) {
  ordered_json json = ordered_json::array();
  for (const TargetResult& one : results)
    if (one.cases > 0)
      json.push_back({{"what", one.row},
                      {"statistic", name_of(one.statistic)},
                      {"cases", one.cases},
                      {"reached_percent", one.reached_percent},
                      {"bound", name_of(one.bound)},
                      {"target_percent", one.target_percent},
                      {"is_met", one.is_met()}});
  return json;
}

}  // namespace weft::calibration::evidence
