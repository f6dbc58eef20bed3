// Kernels that stream through memory: norms, activations, gathers, sums, copies by SMs. What an SM and the GPU reach.
#pragma once

#include "models/machine/machine.hpp"
#include "models/schedule/schedule.hpp"

namespace weft {

struct RowKernelTiming {
  double sm_GBps = 0;     ///< that one SM draws, whether from the L2 or from HBM
  double hbm_share = 1;   ///< of the HBM's rate that all SMs reach together
  double once_us = 0;     ///< a kernel
  bool is_known = false;  ///< one of ours of which the profile says what it draws: it is told of all bytes that it
                          ///< reads and writes, what it changes in place among them twice
};

/// Of our kernels by own_rows of the profile; of others, and where it has none, by other_kernels. What an SM draws for
/// activations, and what any of ours takes once, follows `clock_share` of the maximum clock: over 1,980 MHz / 1,500 MHz
/// ours of a few rows take 1.2 times as long with the gap before them, long ones, which the HBM decides, 1.02 to 1.06
/// times (random-kernels-2026-11-29/clocks_h200).
RowKernelTiming time_row_kernel(const Machine& machine, const Schedule& schedule, const Work& work,
                                double clock_share = 1);

}  // namespace weft
