#include "calibration/report/measurement_report.hpp"

#include <nlohmann/json.hpp>
#include <sstream>

#include "calibration/measurement_json.hpp"
#include "models/base/text.hpp"
#include "models/report/trace_report.hpp"

namespace weft::calibration::report {

using namespace weft::report;
using evidence::TriedPair;
using evidence::TriedSchedule;

namespace {

std::string check_of(const Measurement& measurement) {
  if (!measurement.checked) return "result not checked";
  std::ostringstream check;
  check << "result right: largest error " << measurement.max_error << ", allowed " << measurement.error_bound;
  return check.str();
}

std::vector<Cell> row_of(const TriedPair& pair, const TriedSchedule& tried) {
  const bool failed = !tried.error.empty();
  const auto measured = [&](Number number) { return failed ? Cell("-") : Cell(number); };
  return {pair.pair,
          count(pair.size),
          tried.request.id,
          Number{tried.predicted_us, 1, " us"},
          measured({tried.measured_us, 1, " us"}),
          measured(error(tried.predicted_us / tried.measured_us - 1)),
          measured(ratio(pair.serial_us / tried.measured_us)),
          failed          ? tried.error
          : tried.checked ? "right"
                          : "not checked"};
}

}  // namespace

Report measured_report(const std::string& schedule, const LoneMeasurement& result) {
  const auto& [conditions, measurement, not_recorded] = result;
  Report made = not_recorded.empty() ? trace_report(measurement.trace) : Report{.title = schedule};
  std::ostringstream runs;
  runs << "one iteration, " << name_of(measurement.condition) << ": " << fixed(measurement.time_us, 1) << " us on "
       << conditions.gpus << " x " << conditions.gpu << " (runs:";
  for (const double time_us : measurement.repeats_us) runs << ' ' << fixed(time_us, 1);
  runs << ")";
  made.notes = {runs.str(), check_of(measurement)};
  if (!not_recorded.empty()) made.notes.push_back("no kernels were recorded: " + not_recorded);
  nlohmann::ordered_json json{{"schedule", schedule}};
  json.update(nlohmann::ordered_json(to_json(measurement)));
  auto kernels = nlohmann::json::array();
  for (const KernelRecord& kernel : measurement.kernels) kernels.push_back(to_json(kernel));
  json["kernels"] = kernels;
  json["conditions"] = to_json(conditions);
  made.document = json;
  return made;
}

Report shared_report(const Schedule& schedule, const LoneMeasurement& result) {
  const auto& [conditions, measurement, not_recorded] = result;
  Report made;
  made.title = schedule.name;
  made.notes = {std::to_string(schedule.gpus) + " ranks shared " + conditions.gpu + ": no time means anything",
                check_of(measurement)};
  made.document = nlohmann::ordered_json{{"schedule", schedule.name},
                                         {"checked", measurement.checked},
                                         {"max_error", measurement.max_error},
                                         {"error_bound", measurement.error_bound},
                                         {"conditions", to_json(conditions)}};
  return made;
}

Report tried_report(const std::vector<TriedPair>& pairs, const Conditions& conditions) {
  Report made;
  Table table{.columns = {"pair", "size", "schedule", "predicted", "measured", droppable("error", 3), "over serial",
                          droppable("result", 2)},
              .rows = {}};
  for (const TriedPair& pair : pairs)
    for (const TriedSchedule& tried : pair.fastest_first) table.rows.push_back(row_of(pair, tried));
  made.sections.push_back(
      {"Measured in turns on " + std::to_string(conditions.gpus) + " x " + conditions.gpu, table, {}});
  made.document = nlohmann::ordered_json{{"pairs", to_json(pairs)}, {"conditions", to_json(conditions)}};
  return made;
}

}  // namespace weft::calibration::report
