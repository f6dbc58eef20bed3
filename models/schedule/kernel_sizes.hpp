// What the sizes of a GEMM kernel can be, wherever one is read: far above those of any library, and small enough that
// no product of them with a matrix overflows.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "models/schedule/schedule.hpp"

namespace weft {

/// From 1 to `most`.
struct KernelSize {
  const char* key;
  int GemmKernel::*size;
  int most;
};
inline constexpr std::array kernel_sizes{
    KernelSize{"tile_m", &GemmKernel::tile_m, 1 << 12},      KernelSize{"tile_n", &GemmKernel::tile_n, 1 << 12},
    KernelSize{"tile_k", &GemmKernel::tile_k, 1 << 12},      KernelSize{"cluster_m", &GemmKernel::cluster_m, 1 << 6},
    KernelSize{"cluster_n", &GemmKernel::cluster_n, 1 << 6}, KernelSize{"stages", &GemmKernel::stages, 1 << 12},
    KernelSize{"split_k", &GemmKernel::split_k, 1 << 12}};

/// The first size that no kernel has.
inline std::optional<KernelSize> impossible_size(const GemmKernel& kernel) {
  for (const KernelSize& one : kernel_sizes)
    if (kernel.*one.size < 1 || kernel.*one.size > one.most) return one;
  return std::nullopt;
}

/// Of one CTA: the operands of all stages of its pipeline.
inline Bytes shared_memory_of(const GemmKernel& kernel, DataType dtype) {
  return Bytes{kernel.stages} * (kernel.tile_m + kernel.tile_n) * kernel.tile_k * bytes_of(dtype);
}

}  // namespace weft
