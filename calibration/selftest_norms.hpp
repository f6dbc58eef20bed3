// The all-reduce fused with a residual add and an RMSNorm, alone, for the self-test.
#pragma once

#include <vector>

#include "models/schedule/schedule.hpp"

namespace weft::calibration {

/// Rows of each length that its kernels tell apart, by one CTA and by several. For two GPUs or more.
std::vector<Schedule> norm_schedules(int gpus);

}  // namespace weft::calibration
