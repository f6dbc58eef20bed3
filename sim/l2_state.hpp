// What the previous operation or iteration left in the L2 is read from there.
#pragma once

#include <vector>

#include "models/machine.hpp"
#include "models/schedule.hpp"

namespace weft::sim {

/// For each operation: bytes that it moves from or to HBM in a steady iteration, and all bytes that it touches once.
/// Found by replaying the operations' slices, in program order, through a least-recently-used set of row ranges of
/// `machine.gpu.l2_bytes`; a range larger than the L2 leaves nothing behind.
struct MemoryTraffic {
  double hbm_bytes = 0;
  double touched_bytes = 0;
};
std::vector<MemoryTraffic> memory_traffic(const Schedule& schedule, const Machine& machine);

}  // namespace weft::sim
