// The GPU's clock in device code.
#pragma once

#include <cstdint>

namespace weft::calibration::device {

__device__ inline std::uint64_t now_ns() {
  std::uint64_t time_ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time_ns));
  return time_ns;
}

}  // namespace weft::calibration::device
