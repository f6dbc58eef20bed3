// Collectives of NCCL on windows of symmetric memory, for the self-test.
#pragma once

#include <vector>

#include "models/schedule/schedule.hpp"

namespace weft::calibration {

/// By NCCL's kernels for windows and by its copy engines: alone, small and large, and in chunks behind a GEMM.
std::vector<Schedule> window_schedules(int gpus);

}  // namespace weft::calibration
