// Attention for the self-test: distributed, with keys and values that travel or queries that do, and on one GPU.
#pragma once

#include <vector>

#include "models/schedule/schedule.hpp"

namespace weft::calibration {

/// On one GPU causal attention of packed rows, by a CTA for each tile and by a few that stay; else distributed.
std::vector<Schedule> attention_schedules(int gpus);

}  // namespace weft::calibration
