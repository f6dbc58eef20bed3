// The kernels of a layer's experts for the self-test: grouped GEMMs of groups of all sizes, and what comes before and
// after them.
#pragma once

#include <vector>

#include "models/schedule/schedule.hpp"

namespace weft::calibration {

std::vector<Schedule> expert_schedules(int gpus);

}  // namespace weft::calibration
