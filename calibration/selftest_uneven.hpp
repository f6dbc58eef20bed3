// Schedules of the self-test in which each rank has rows of its own number, some ranks none.
#pragma once

#include <vector>

#include "models/schedule/schedule.hpp"

namespace weft::calibration {

/// Needs at least two GPUs.
std::vector<Schedule> uneven_schedules(int gpus);

}  // namespace weft::calibration
