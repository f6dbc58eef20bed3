// What our GEMM kernels for Hopper are made of. A CTA of three warpgroups computes a tile at a time: of the first one a
// thread loads operands by TMA into a ring of stages, another stores finished tiles, and two warps may do what else
// there is; the other two multiply, each the half of the tile's rows. CTAs of a cluster compute tiles one below the
// other and share the loads of b. Which tiles there are, and where they are stored, is up to the kernel.
#pragma once

#include <cuda_bf16.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "calibration/device/check.hpp"
#include "calibration/device/hopper.cuh"
#include "calibration/device/sms_of_gpu.hpp"
#include "calibration/device/tensor_map.hpp"
#include "models/schedule/own_kernels.hpp"

namespace weft::calibration::device {
namespace own_tiles {

inline constexpr int tile_m = own_tile_m, tile_k = own_tile_k;
inline constexpr int warpgroup = 128, multiplying_warpgroups = 2, threads = warpgroup * (1 + multiplying_warpgroups);
inline constexpr int rows_of_warpgroup = tile_m / multiplying_warpgroups;
inline constexpr int first_idle_warp = 2;  // of the first warpgroup, and the last one behind it
/// The hardware's barriers of a CTA, by number; 0 is that of all threads. Each has one set of threads in all kernels.
enum HardwareBarrier { of_first_multipliers = 1, of_second_multipliers, of_idle_warps };
inline constexpr int piece_columns = box_columns;
inline constexpr int element_bytes = 2;
// The multiplying warpgroups get most of them. An SM has 65,536: what is left lets small kernels in beside ours, such
// as those that signal what our tiles wait for, and sums.
inline constexpr int registers_of_thread = own_gemm_registers_per_thread;
inline constexpr int registers_of_movers = 48, registers_of_multipliers = 216;

template <int tile_n>
struct SharedMemory {
  static constexpr int stages = own_stages(tile_n);
  alignas(1024) __nv_bfloat16 a[stages][tile_m * tile_k];
  alignas(1024) __nv_bfloat16 b[stages][tile_n * tile_k];
  alignas(1024) __nv_bfloat16 staged[tile_n / piece_columns][tile_m * piece_columns];
  hopper::Barrier loaded[stages], multiplied[stages];
  hopper::Barrier tile_staged, tile_read, addend_loaded;
};

/// Of a tile, those that a CTA multiplies.
struct StepsAlongK {
  int first = 0, end = 0;
  __device__ int count() const { return end - first; }
};

/// The tiles of one CTA, ascending.
struct CtaTiles {
  std::int64_t tile, step;
  __device__ CtaTiles() : tile(static_cast<std::int64_t>(blockIdx.x)), step(static_cast<std::int64_t>(gridDim.x)) {}
  __device__ void advance() { tile += step; }
};

template <int cluster>
__device__ void meet() {
  if constexpr (cluster > 1)
    hopper::meet_cluster();
  else
    __syncthreads();
}

/// The CTA's shared memory, with barriers that its cluster knows.
template <int tile_n, int cluster>
__device__ SharedMemory<tile_n>& begin(std::byte* memory, const CUtensorMap& a, const CUtensorMap& b,
                                       const CUtensorMap& c) {
  const std::uint32_t unaligned = hopper::shared_address(memory) % 1024;
  auto& shared = *reinterpret_cast<SharedMemory<tile_n>*>(memory + (1024 - unaligned) % 1024);
  if (threadIdx.x == 0) {
    for (const CUtensorMap* map : {&a, &b, &c}) hopper::prefetch(*map);
    for (int i = 0; i < own_stages(tile_n); ++i) {
      hopper::init(shared.loaded[i], 1);
      hopper::init(shared.multiplied[i], multiplying_warpgroups * cluster);
    }
    hopper::init(shared.tile_staged, multiplying_warpgroups * warpgroup);
    hopper::init(shared.tile_read, 1);
    hopper::init(shared.addend_loaded, 1);
    hopper::publish_barriers();
  }
  meet<cluster>();
  return shared;
}

/// Each part of the CTA does its own, and all end together: nobody leaves while a peer may still load into its memory
/// or arrive at its barriers.
template <int cluster, class Load, class Store, class Multiply, class Beside>
__device__ void share_out(const Load& load_tiles, const Store& store_tiles, const Multiply& multiply_tiles,
                          const Beside& do_beside) {
  if (threadIdx.x < warpgroup) {
    hopper::give_registers_back<registers_of_movers>();
    if (threadIdx.x == 0) load_tiles();
    if (threadIdx.x == 32) store_tiles();
    if (threadIdx.x >= 32 * first_idle_warp) do_beside();
    __syncwarp();
  } else {
    hopper::take_registers<registers_of_multipliers>();
    multiply_tiles();
  }
  meet<cluster>();
}

/// What the loading thread keeps from tile to tile.
template <int tile_n, int cluster>
struct Loader {
  static constexpr int rows_of_b = tile_n / cluster;
  SharedMemory<tile_n>& shared;
  const CUtensorMap& b;
  int cta = cluster > 1 ? hopper::cta_of_cluster() : 0;
  hopper::Ring<own_stages(tile_n)> ring = {};

  /// The operands of one tile, of which `steps` are read along k: rows of a from `row_a` on, and of b from `row_b` on,
  /// of which a CTA of a cluster loads its share for all. Boxes that reach over an edge bring all of their bytes, zeros
  /// for what lies outside. Each step of a is loaded behind `wait_for` of it. Where the boxes of a have fewer rows than
  /// a tile, the others are left as they were.
  template <class Wait>
  __device__ void load(const CUtensorMap& a, int row_a, int row_b, StepsAlongK steps, const Wait& wait_for,
                       int rows_of_a = tile_m) {
    const int stage_bytes = (rows_of_a + tile_n) * tile_k * element_bytes;
    const int own_row_b = row_b + cta * rows_of_b;
    for (int step = steps.first; step < steps.end; ++step, ring.advance()) {
      wait_for(step);
      hopper::wait(shared.multiplied[ring.slot], ring.parity ^ 1);
      hopper::Barrier& loaded = shared.loaded[ring.slot];
      hopper::arrive_and_expect(loaded, stage_bytes);
      hopper::load(shared.a[ring.slot], a, step * tile_k, row_a, loaded);
      __nv_bfloat16* const part_of_b = shared.b[ring.slot] + cta * rows_of_b * tile_k;
      if constexpr (cluster > 1)
        hopper::load_for_all(part_of_b, b, step * tile_k, own_row_b, loaded, (1 << cluster) - 1);
      else
        hopper::load(part_of_b, b, step * tile_k, own_row_b, loaded);
    }
  }
};

/// What a thread that multiplies keeps from tile to tile.
template <int tile_n, int cluster>
struct Multiplier {
  SharedMemory<tile_n>& shared;
  int thread = static_cast<int>(threadIdx.x) % warpgroup;
  int first_row = (static_cast<int>(threadIdx.x) / warpgroup - 1) * rows_of_warpgroup;
  hopper::Ring<own_stages(tile_n)> ring = {};

  __device__ int first_row_of_warp() const { return first_row + thread / 32 * 16; }

  __device__ void release(int slot) const {
    if (thread >= cluster) return;
    if constexpr (cluster > 1)
      hopper::arrive_at(shared.multiplied[slot], thread);
    else
      hopper::arrive(shared.multiplied[slot]);
  }

  /// sums = the rows of the warpgroup in the next tile, of which so many steps along k are loaded.
  __device__ void multiply(float (&sums)[tile_n / 2], int k_steps) {
    int previous = 0;
    for (int step = 0; step < k_steps; ++step, ring.advance()) {
      hopper::wait(shared.loaded[ring.slot], ring.parity);
      std::uint64_t of_a = hopper::matrix_descriptor(shared.a[ring.slot] + first_row * tile_k);
      std::uint64_t of_b = hopper::matrix_descriptor(shared.b[ring.slot]);
      hopper::begin_mma();
#pragma unroll
      for (int part = 0; part < tile_k / hopper::mma_k; ++part, of_a += hopper::next_k, of_b += hopper::next_k)
        hopper::multiply(sums, of_a, of_b, step + part);
      hopper::end_group_of_mma();
      if (step > 0) {
        hopper::wait_for_mma<1>();
        release(previous);
      }
      previous = ring.slot;
    }
    hopper::wait_for_mma<0>();
    release(previous);
  }

  /// Lets the other warpgroup's operands pass: this one has no rows in the tile.
  __device__ void skip(int k_steps) {
    for (int step = 0; step < k_steps; ++step, ring.advance()) {
      hopper::wait(shared.loaded[ring.slot], ring.parity);
      release(ring.slot);
    }
  }
};

/// Where the calling lane's row of its warp's sixteen lies, from a column on, among the staged pieces of 64 columns,
/// swizzled as the boxes that copies move are.
template <int tile_n>
__device__ std::byte* place_of(SharedMemory<tile_n>& shared, int staged_row, int column) {
  const int chunk = column / 8 % 8 + static_cast<int>(threadIdx.x) % 32 / 16;
  auto* piece = reinterpret_cast<std::byte*>(shared.staged[column / piece_columns]);
  return piece + staged_row * 128 + (chunk ^ staged_row % 8) * 16;
}

/// sums += the staged tile.
template <int tile_n>
__device__ void add_staged(SharedMemory<tile_n>& shared, float (&sums)[tile_n / 2], int staged_row) {
#pragma unroll
  for (int column = 0; column < tile_n; column += 16) {
    std::uint32_t pairs[4];
    hopper::load_matrices(pairs, place_of(shared, staged_row, column));
#pragma unroll
    for (int pair = 0; pair < 4; ++pair) {
      const float2 two = __bfloat1622float2(reinterpret_cast<const __nv_bfloat162&>(pairs[pair]));
      sums[column / 2 + 2 * pair] += two.x, sums[column / 2 + 2 * pair + 1] += two.y;
    }
  }
}

/// For the thread that stores. `staged_row` is where the calling lane's row of its warp's sixteen goes.
template <int tile_n>
__device__ void stage(SharedMemory<tile_n>& shared, const float (&sums)[tile_n / 2], int staged_row) {
#pragma unroll
  for (int column = 0; column < tile_n; column += 16) {
    const int i = column / 2;
    const std::uint32_t values[4] = {hopper::packed(sums[i], sums[i + 1]), hopper::packed(sums[i + 2], sums[i + 3]),
                                     hopper::packed(sums[i + 4], sums[i + 5]),
                                     hopper::packed(sums[i + 6], sums[i + 7])};
    hopper::store_matrices(place_of(shared, staged_row, column), values);
  }
}
/// The row of its warp's sixteen whose address a lane names.
__device__ inline int row_of_lane() {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  return lane / 8 % 2 * 8 + lane % 8;
}

// --- Launches ----------------------------------------------------------------------------------------------------

/// A kernel as compiled for one tile and cluster.
template <class Kernel>
struct Variant {
  int tile_n, cluster_m;
  Kernel kernel;
  int shared_bytes;
};
template <int tile_n, int cluster, class Kernel>
constexpr Variant<Kernel> variant(Kernel kernel) {
  return {tile_n, cluster, kernel, static_cast<int>(sizeof(SharedMemory<tile_n>)) + 1024};
}
template <class Kernel, std::size_t count>
const Variant<Kernel>& variant_of(const GemmKernel& kernel, const Variant<Kernel> (&variants)[count]) {
  return *std::ranges::find_if(variants, [&](const Variant<Kernel>& one) {
    return one.tile_n == kernel.tile_n && one.cluster_m == kernel.cluster_m;
  });
}

/// Whole clusters. `max_sms`: CTAs of a persistent kernel; 0: one for each SM.
inline int ctas_for(const GemmKernel& kernel, std::int64_t all_tiles, int max_sms) {
  const auto tiles = static_cast<int>(all_tiles);
  const bool is_grid = kernel.scheduler == TileScheduler::grid;
  const int ctas = is_grid ? tiles : std::min(tiles, max_sms > 0 ? max_sms : sms_of_gpu());
  return std::max(kernel.cluster_m, ctas / kernel.cluster_m * kernel.cluster_m);
}

template <class Kernel>
void allow_shared_memory(const Variant<Kernel>& variant) {
  WEFT_CHECK(cudaFuncSetAttribute(reinterpret_cast<const void*>(variant.kernel),
                                  cudaFuncAttributeMaxDynamicSharedMemorySize, variant.shared_bytes));
}

template <class Kernel, class... Arguments>
void launch(const Variant<Kernel>& variant, int ctas, cudaStream_t stream, const Arguments&... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(ctas));
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = static_cast<std::size_t>(variant.shared_bytes);
  config.stream = stream;
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {static_cast<unsigned>(variant.cluster_m), 1, 1};
  if (variant.cluster_m > 1) config.attrs = &cluster, config.numAttrs = 1;
  WEFT_CHECK(cudaLaunchKernelEx(&config, variant.kernel, arguments...));
}

}  // namespace own_tiles
}  // namespace weft::calibration::device
