// What the self-test runs: every supported operation, in small schedules written by hand.
#pragma once

#include <vector>

#include "models/schedule/schedule.hpp"

namespace weft::calibration {

std::vector<Schedule> all_schedules(int gpus);

/// For the test of time limits: a rank that does not take part leaves the others in NCCL, or in a barrier.
Schedule waits_for_nccl(int gpus);
Schedule waits_for_barrier(int gpus);

}  // namespace weft::calibration
