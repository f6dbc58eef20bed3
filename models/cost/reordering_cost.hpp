// What it costs that a GEMM's result is stored in another order than its rows' (layout.hpp).
#pragma once

#include <optional>
#include <string_view>

#include "models/machine/machine.hpp"

namespace weft {

/// Of a GEMM that stores `layout`, as a share of its time.
double gemm_reordering(const Machine& machine, const Layout& layout);

/// Of a norm that reads a result in another order than its rows', and puts it in order: a share of its time.
double norm_reordering(const Machine& machine, const MemoryBound& kernel, const Schedule& schedule);

/// Of the RMSNorm that reads the result of a collective and undoes the order. It belongs to the next kernel, so no time
/// of the schedule itself holds it.
struct NextKernelCost {
  std::string_view unit;  ///< what is stored in one piece: "tile", "sub_tile" or "row"
  double share = 0;       ///< of the RMSNorm's time
  double time_us = 0;     ///< so much longer; an RMSNorm reads and writes its rows once at the HBM's rate
  bool operator==(const NextKernelCost&) const = default;
};
/// Empty where no GEMM of the schedule reorders, or the profile does not know the cost.
std::optional<NextKernelCost> next_kernel_reordering(const Machine& machine, const Schedule& schedule);

}  // namespace weft
