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

}  // namespace weft
