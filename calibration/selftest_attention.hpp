// Attention for the self-test: distributed, with keys and values that travel or queries that do, and on one GPU.
#pragma once

#include <vector>

#include "models/schedule/schedule.hpp"

namespace weft::calibration {

/// For at least two GPUs.
std::vector<Schedule> attention_schedules(int gpus);
/// Causal attention of packed rows on one GPU: by a CTA for each tile, and by a few that stay.
std::vector<Schedule> packed_attention_schedules();

}  // namespace weft::calibration
