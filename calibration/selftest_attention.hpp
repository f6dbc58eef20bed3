// Distributed attention for the self-test: keys and values that travel, and queries that do.
#pragma once

#include <vector>

#include "models/schedule/schedule.hpp"

namespace weft::calibration {

/// For at least two GPUs.
std::vector<Schedule> attention_schedules(int gpus);

}  // namespace weft::calibration
