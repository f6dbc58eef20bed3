// Of the self-test: fp8 (e4m3) in GEMMs, in the kernels that make their factors, copied, gathered and exchanged.
#pragma once

#include <vector>

#include "models/schedule/schedule.hpp"

namespace weft::calibration {

std::vector<Schedule> fp8_schedules(int gpus);

/// Some of them with 16 wrong elements in the result: their check has to fail.
std::vector<Schedule> spoilt_fp8_schedules(int gpus);

}  // namespace weft::calibration
