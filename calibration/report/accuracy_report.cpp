#include "calibration/report/accuracy_report.hpp"

#include <nlohmann/json.hpp>

#include "models/base/statistics.hpp"

namespace weft::calibration::report {

using namespace weft::report;

namespace {

using nlohmann::ordered_json;

/// Of a column whose name has the unit.
Number percents(double share) { return {100 * share, 1}; }
Number us(double time_us) { return {time_us, 1}; }

Section section_of(const evidence::AccuracyTable& accuracies) {
  Table table{{Column(accuracies.by), "cases", "mean %", droppable("median %", 6), "p90 %", droppable("p99 %", 3),
               droppable("max %", 4), "bias %", droppable("noise %", 2), droppable("covered %", 5),
               droppable("half width %", 1)},
              {}};
  for (const auto& [name, one] : accuracies.rows)
    table.rows.push_back({name, count(one.cases), percents(one.mean), percents(one.median), percents(one.p90),
                          percents(one.p99), percents(one.maximum), percents(one.bias), percents(one.noise),
                          percents(one.coverage), percents(one.half_width)});
  return {.table = table};
}

/// A section for each table and one for the choices.
std::vector<Section> sections_of(const evidence::AccuracyReport& report) {
  std::vector<Section> sections;
  for (const evidence::AccuracyTable& table : report.tables)
    if (!table.rows.empty()) sections.push_back(section_of(table));
  Table choices{{"choice", "of", "%"}, {}};
  for (const evidence::Fact& fact : report.facts)
    choices.rows.push_back({fact.text, count(fact.count), percents(fact.share)});
  if (!choices.rows.empty()) sections.push_back({"", choices, {}});
  return sections;
}

/// A row for each case.
Section section_of(const std::vector<evidence::Comparison>& comparisons) {
  Table table{
      {"workload", "schedule", droppable("GPUs", 2), "measured us", "predicted us", "error %", droppable("noise %", 1)},
      {}};
  for (const evidence::Comparison& one : comparisons) {
    const auto& repeats = one.measured.repeats_us;
    const scenarios::Case& request = one.measured.request;
    table.rows.push_back({describe(request.workload), describe(request.schedule), count(request.gpus),
                          us(one.measured.time_us), us(one.predicted_us), percents(one.error()),
                          percents(repeats.empty() ? 0 : relative_spread(repeats))});
  }
  return {.table = table};
}

/// A row for each target.
Section section_of(const std::vector<evidence::TargetResult>& results) {
  Table table{{"what", "statistic", droppable("cases", 1), "reached %", "target %", ""}, {}};
  std::size_t met = 0, asked = 0;
  for (const evidence::TargetResult& one : results) {
    const bool has_cases = one.cases > 0;
    table.rows.push_back({std::string(one.row), std::string(name_of(one.statistic)), count(one.cases),
                          has_cases ? Cell(Number{one.reached_percent, 1}) : Cell("-"),
                          std::string(name_of(one.bound)) + " " + text_of(Number{one.target_percent, 1}),
                          !has_cases     ? "no cases"
                          : one.is_met() ? "met"
                                         : "missed"});
    met += one.is_met() ? 1 : 0;
    asked += has_cases ? 1 : 0;
  }
  return {"", table, {std::to_string(met) + " of " + std::to_string(asked) + " targets met"}};
}

ordered_json header_of(const Source& source) { return {{"machine", source.machine}, {"files", source.files}}; }

}  // namespace

Report accuracy_report(const std::vector<evidence::MeasuredCase>& measured,
                       const std::vector<evidence::Comparison>& comparisons, std::size_t refused,
                       const Machine& machine, const Source& source, bool has_rows) {
  const evidence::AccuracyReport accuracy = evidence::report_of(measured, comparisons, machine);
  ordered_json json = header_of(source);
  json.update(to_json(accuracy));
  Report made{.sections = sections_of(accuracy), .document = json};
  if (has_rows) made.sections.insert(made.sections.begin(), section_of(comparisons));
  if (refused > 0)
    made.notes.push_back(std::to_string(refused) +
                         " measurements of schedules that the simulator does not have are left out.");
  return made;
}

Report targets_report(const std::vector<evidence::TargetResult>& results, const Source& source) {
  ordered_json json = header_of(source);
  json["targets"] = to_json(results);
  return {.sections = {section_of(results)}, .document = json};
}

Report ablation_report(const std::vector<evidence::Ablation>& ablations, const Source& source) {
  Table table{{"switched off", "cases", "mean %", droppable("median %", 1), droppable("p90 %", 2), "bias %"}, {}};
  ordered_json json = header_of(source);
  for (const auto& [name, accuracy] : ablations) {
    table.rows.push_back({std::string(name), count(accuracy.cases), percents(accuracy.mean), percents(accuracy.median),
                          percents(accuracy.p90), percents(accuracy.bias)});
    json["switched_off"][std::string(name)] = {{"cases", accuracy.cases},
                                               {"mean_error", accuracy.mean},
                                               {"median_error", accuracy.median},
                                               {"p90_error", accuracy.p90},
                                               {"bias", accuracy.bias}};
  }
  return {.sections = {{.table = table}}, .document = json};
}

}  // namespace weft::calibration::report
