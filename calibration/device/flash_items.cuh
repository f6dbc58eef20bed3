// Which item (a head's queries of one tile) a CTA of an attention kernel works on. CTAs that stay take the next item
// that nobody has: one that begins late, behind a kernel that held its SM, takes fewer.
#pragma once

#include <cstdint>

#include "calibration/device/flash_tiles.cuh"

namespace weft::calibration::device {
namespace flash {

/// The next of `count` items, or `count` and more where none is left. Every CTA takes until then, once in vain: after
/// as many the counter is 0 again, for the next launch.
__device__ inline int take(std::uint32_t* taken, int count) {
  return static_cast<int>(atomicInc(taken, static_cast<unsigned>(count) + gridDim.x - 1));
}

inline constexpr int warps_of_workers = working_warpgroups * warpgroup / 32;

/// The number of the item under way, from the loader to each warp of workers.
struct Told {
  hopper::Barrier told, read;
  int number;

  /// By one thread, before the CTA meets.
  __device__ void init() {
    hopper::init(told, 1);
    hopper::init(read, warps_of_workers);
  }
  __device__ void tell(int next, std::uint32_t parity) {
    hopper::wait(read, parity ^ 1);
    number = next;
    hopper::arrive(told);
  }
  /// By all threads of a warp.
  __device__ int hear(std::uint32_t parity) {
    hopper::wait(told, parity);
    int heard = 0;
    if (threadIdx.x % 32 == 0) {
      heard = number;
      hopper::arrive(read);
    }
    return __shfl_sync(0xffffffffU, heard, 0);
  }
};

template <int head_dim>
struct ItemMemory {
  SharedMemory<head_dim> tiles;
  Told item;

  /// By one thread, before the CTA meets.
  __device__ void init() {
    item.init();
    init_barriers<head_dim>(tiles);
  }
};

}  // namespace flash
}  // namespace weft::calibration::device
