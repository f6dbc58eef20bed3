// One schedule on the GPUs of this machine, measured alone.
#pragma once

#include "calibration/hardware.hpp"

namespace weft::calibration {

struct LoneMeasurement {
  Conditions conditions;
  Measurement measurement;
};

/// As measure() in hardware.hpp does; a schedule that cannot be run, or whose result is wrong, is an ExecutionError
/// too.
LoneMeasurement measure_alone(const Schedule& schedule, const RunOptions& options);

}  // namespace weft::calibration
