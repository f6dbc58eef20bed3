// One schedule on the GPUs of this machine, measured alone.
#pragma once

#include <string>

#include "calibration/hardware.hpp"

namespace weft::calibration {

struct LoneMeasurement {
  Conditions conditions;
  Measurement measurement;
  std::string not_recorded = {};  ///< why there are no spans though they were asked for; empty: there are
};

/// As measure() in hardware.hpp does; a schedule that cannot be run, or whose result is wrong, is an ExecutionError
/// too. What was measured is kept where the second run, which records spans, fails.
LoneMeasurement measure_alone(const Schedule& schedule, const RunOptions& options);

}  // namespace weft::calibration
