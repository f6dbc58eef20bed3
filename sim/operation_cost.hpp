// What an operation costs whatever the clock and its neighbours: found once for all runs of a schedule.
#pragma once

#include <vector>

#include "models/cost/collective_model.hpp"
#include "models/cost/gemm_model.hpp"
#include "models/machine/machine.hpp"
#include "models/schedule/schedule.hpp"
#include "sim/l2_state.hpp"

namespace weft::sim {

struct OperationCost {
  MemoryTraffic traffic;
  GemmKernel kernel;                   ///< a GEMM's, chosen as the library would where the schedule leaves it open
  GemmFactors factors;                 ///< a GEMM's, over the formulas
  bool signals = false;                ///< a GEMM that tells others of its groups of tiles as they are done
  double memory_load = 0;              ///< a GEMM's: what it touches over what HBM could carry while it runs alone
  CollectiveTiming collective;         ///< a collective's or exchange's; the library's are cold beside others
  double hbm_bytes_per_port_byte = 0;  ///< a collective's, read and written on each GPU
  double given_us = -1;                ///< below 0: none is given
};

/// One for each operation. Without `l2_reuse` every operation finds an empty L2. Throws InputError for a transport that
/// the simulator or the machine does not have.
std::vector<OperationCost> operation_costs(const Schedule& schedule, const Machine& machine, bool l2_reuse = true);

}  // namespace weft::sim
