// What makes the kernels of a process late: on an H200 each follows the one before it 0.4 us later ever after (measured
// by programs that spin, calibration/measurements/kernel-gaps-2026-11-29).
#pragma once

#include "models/machine/run_condition.hpp"
#include "models/schedule/schedule.hpp"

namespace weft {

/// Whether, where it runs, two streams run kernels at one time outside of a graph: where it is no graph, and where its
/// warm-up is none, as PyTorch's and until 2026-11-30 weft's. One with transfers by copy engines is left out: what lies
/// between its operations was measured so, and is told apart by its own numbers.
bool makes_kernels_late(const Schedule& schedule, const RunCondition& condition);

}  // namespace weft
