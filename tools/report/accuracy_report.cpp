#include "tools/report/accuracy_report.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "calibration/evidence/duration_ratio.hpp"
#include "models/base/statistics.hpp"
#include "models/base/text.hpp"
#include "tools/report/table.hpp"
#include "tools/rooms.hpp"

namespace weft::tools::report {
namespace {

using nlohmann::ordered_json;

std::string percent(double share) { return fixed(100 * share, 1); }

AccuracyTable table_of(const std::string& by, const evidence::Groups& groups) {
  AccuracyTable table{by, {}};
  for (const auto& [name, some] : groups) table.rows.emplace_back(name, evidence::accuracy_of(some));
  return table;
}

ordered_json to_json(const evidence::Accuracy& accuracy) {
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

/// One number of a list of them: a share.
struct Fact {
  std::string key, text;
  std::size_t count = 0;
  double share = 0;
};

double p90(const std::vector<double>& values) { return quantile(values, 0.9); }

/// Those that there is something to say about.
std::vector<Fact> facts_of(const AccuracyReport& report) {
  std::vector<double> errors, of_choice, of_serial, negligible;
  for (const evidence::Speedup& one : report.speedups) errors.push_back(std::abs(one.error()));
  for (const evidence::Regret& one : report.regrets) {
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
  add("right_sign_beyond_2_percent", "speedups beyond 2 % whose sign is right",
      evidence::right_signs_beyond(0.02, report.speedups));
  add("right_sign_beyond_5_percent", "speedups beyond 5 % whose sign is right",
      evidence::right_signs_beyond(0.05, report.speedups));
  add("mean_regret", "slower than the best: the schedule predicted fastest, mean", of_choice);
  add("p90_regret", "slower than the best: the schedule predicted fastest, p90", of_choice, p90);
  add("mean_regret_of_serial", "slower than the best: always serial, mean", of_serial);
  add("negligible_regret", "schedules predicted fastest that are within 1 % and the noise of the best", negligible);
  return facts;
}

}  // namespace

AccuracyReport report_of(const std::vector<evidence::MeasuredCase>& measured,
                         const std::vector<evidence::Comparison>& comparisons, const Machine& machine) {
  evidence::DurationRatios ratios(measured, machine);
  const std::vector<evidence::Contest> contests = evidence::contests_of(comparisons);
  return {{table_of("op", grouped(comparisons, evidence::op_name)),
           table_of("family", grouped(comparisons, evidence::family_name)),
           table_of("GPUs", grouped(comparisons, evidence::gpus_name)),
           table_of("overlapped, GEMM / collective alone",
                    grouped(comparisons, [&](const evidence::Comparison& one) { return ratios.class_of(one); })),
           table_of("op | family | GPUs", grouped(comparisons, evidence::stratum_name)),
           {"all", {{"all", evidence::accuracy_of(comparisons)}}}},
          evidence::speedups_of(contests),
          evidence::regrets_of(contests)};
}

std::ostream& operator<<(std::ostream& out, const AccuracyReport& report) {
  for (const AccuracyTable& one : report.tables) {
    Table table({one.by, "cases", "mean %", "median %", "p90 %", "p99 %", "max %", "bias %", "noise %", "covered %",
                 "half width %"});
    for (const auto& [name, accuracy] : one.rows)
      table.add({name, std::to_string(accuracy.cases), percent(accuracy.mean), percent(accuracy.median),
                 percent(accuracy.p90), percent(accuracy.p99), percent(accuracy.maximum), percent(accuracy.bias),
                 percent(accuracy.noise), percent(accuracy.coverage), percent(accuracy.half_width)});
    if (!one.rows.empty()) out << table << '\n';
  }
  Table table({"choice", "of", "%"});
  const std::vector<Fact> facts = facts_of(report);
  for (const Fact& fact : facts) table.add({fact.text, std::to_string(fact.count), percent(fact.share)});
  if (!facts.empty()) out << table << '\n';
  return out;
}

ordered_json to_json(const AccuracyReport& report) {
  ordered_json json;
  for (const AccuracyTable& table : report.tables)
    for (const auto& [name, accuracy] : table.rows) json["accuracy"][table.by][name] = to_json(accuracy);
  for (const Fact& fact : facts_of(report)) json["choice"][fact.key] = {{"of", fact.count}, {"share", fact.share}};
  return json;
}

void print_targets(std::ostream& out, const std::vector<evidence::TargetResult>& results) {
  Table table({"what", "statistic", "cases", "reached %", "target %", ""});
  std::size_t met = 0, asked = 0;
  for (const evidence::TargetResult& one : results) {
    const bool has_cases = one.cases > 0;
    table.add({std::string(one.row), std::string(name_of(one.statistic)), std::to_string(one.cases),
               has_cases ? fixed(one.reached_percent, 1) : "-",
               std::string(name_of(one.bound)) + " " + fixed(one.target_percent, 1),
               !has_cases     ? "no cases"
               : one.is_met() ? "met"
                              : "missed"});
    met += one.is_met() ? 1 : 0;
    asked += has_cases ? 1 : 0;
  }
  out << table << met << " of " << asked << " targets met\n";
}

ordered_json to_json(const std::vector<evidence::TargetResult>& results) {
  ordered_json json = ordered_json::array();
  for (const evidence::TargetResult& one : results)
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

}  // namespace weft::tools::report
