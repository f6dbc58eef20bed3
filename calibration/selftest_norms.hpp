// Norms alone, for the self-test: fused with an all-reduce, and of what a GEMM has stored tile by tile.
#pragma once

#include <vector>

#include "models/schedule/schedule.hpp"

namespace weft::calibration {

/// Rows of each length that its kernels tell apart, by one CTA and by several. For two GPUs or more.
std::vector<Schedule> norm_schedules(int gpus);

/// Every layout, with bands of tiles that end in a lower one and groups that end inside of one.
std::vector<Schedule> reordering_norm_schedules(int gpus);

}  // namespace weft::calibration
