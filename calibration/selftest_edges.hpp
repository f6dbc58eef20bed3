// Edges from what is not a kernel's end, for the self-test.
#pragma once

#include <vector>

#include "models/schedule/schedule.hpp"

namespace weft::calibration {

/// A GEMM of ours follows the start of something on another stream, and another operation a group of its tiles: behind
/// the library's collectives, of one kernel and of several, and behind attention in graphs; behind kernels that count
/// their CTAs also without a graph, and from their first CTA.
std::vector<Schedule> edge_schedules(int gpus);

}  // namespace weft::calibration
