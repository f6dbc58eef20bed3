// Exchanges in one launch of our GEMM, which stores its tiles on peers or fetches rows from them, for the self-test.
#pragma once

#include <vector>

#include "models/schedule/schedule.hpp"

namespace weft::calibration {

/// An all-to-all behind a GEMM, and an all-gather and an all-to-all before one, by each persistent kernel of our own:
/// of sizes that no tile divides, and of so few tiles that most CTAs have none. For two to eight GPUs.
std::vector<Schedule> one_launch_schedules(int gpus);

}  // namespace weft::calibration
