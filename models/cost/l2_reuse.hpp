// How much of what was touched before is still in the L2.
#pragma once

#include <algorithm>

#include "models/machine/machine.hpp"

namespace weft {

/// Share of bytes that come from HBM although they were touched before, when `bytes_since` were touched from then on,
/// their own included: 0 up to l2_bytes, 1 from l2_lost_bytes, linear between (the L2 does not evict strictly by age).
inline double l2_miss_share(const Gpu& gpu, double bytes_since) {
  const auto kept = static_cast<double>(gpu.l2_bytes), lost = static_cast<double>(gpu.l2_lost_bytes);
  return std::clamp((bytes_since - kept) / (lost - kept), 0.0, 1.0);
}

/// Bytes that a GEMM of the library which is repeated finds no more in the L2.
inline double hbm_bytes_of_repeated(const Gpu& gpu, const MatrixSize& size, DataType dtype) {
  const auto operand = static_cast<double>(bytes_of(dtype)), output = static_cast<double>(bytes_of(DataType::bf16));
  const auto m = static_cast<double>(size.m), n = static_cast<double>(size.n), k = static_cast<double>(size.k);
  const double touched = (m * k + n * k) * operand + m * n * output;
  return touched * l2_miss_share(gpu, touched);
}

}  // namespace weft
