#include "calibration/lone_measurement.hpp"

#include <optional>
#include <string>

namespace weft::calibration {

LoneMeasurement measure_alone(const Schedule& schedule, const RunOptions& options) {
  LoneMeasurement result;
  std::optional<std::string> problem;
  measure({schedule}, options,
          {.on_conditions = [&](const Conditions& conditions) { result.conditions = conditions; },
           .on_result = [&](std::size_t, const Measurement& found) { result.measurement = found; },
           .on_error = [&](std::size_t, const std::string& message) { problem = message; }});
  if (problem) throw ExecutionError("schedule \"" + schedule.name + "\": " + *problem);
  return result;
}

}  // namespace weft::calibration
