// What the previous operation or iteration left in the L2 is read from there.
#pragma once

#include <vector>

#include "models/machine/machine.hpp"
#include "models/schedule/schedule.hpp"

namespace weft::sim {

/// For each operation: bytes that it moves from or to HBM in a steady iteration, which finds in the L2 what the
/// machine's timing leaves there, and all bytes that it touches once.
/// Found by replaying the operations' slices, in program order, over a list of row ranges by age
/// (models/cost/l2_reuse.hpp says what is left of each).
struct MemoryTraffic {
  double hbm_bytes = 0;
  double touched_bytes = 0;
  double own_bytes = 0;                           // of those, in the GPU's own memory
  double addend_hbm_bytes = 0, addend_bytes = 0;  // what a GEMM reads of those of the matrix that it adds to
};
std::vector<MemoryTraffic> memory_traffic(const Schedule& schedule, const Machine& machine);

}  // namespace weft::sim
