#include "calibration/lone_measurement.hpp"

#include <optional>
#include <string>

#include "calibration/process_group.hpp"

namespace weft::calibration {

LoneMeasurement measure_alone(const Schedule& schedule, const RunOptions& options) {
  LoneMeasurement result;
  bool is_measured = false;
  std::optional<std::string> problem;
  try {
    measure({schedule}, options,
            {.on_conditions = [&](const Conditions& conditions) { result.conditions = conditions; },
             .on_result =
                 [&](std::size_t, const Measurement& found) {
                   result.measurement = found;
                   is_measured = true;
                 },
             .on_error = [&](std::size_t, const std::string& message) { problem = message; }});
  } catch (const Interrupted&) {
    throw;
  } catch (const ExecutionError& error) {
    if (!is_measured) throw;
    problem = error.what();
  }
  if (problem && !is_measured) throw ExecutionError("schedule \"" + schedule.name + "\": " + *problem);
  result.not_recorded = problem.value_or("");
  return result;
}

}  // namespace weft::calibration
