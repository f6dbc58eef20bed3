#include <cuda_bf16.h>

#include <algorithm>
#include <string>

#include "calibration/device/check.hpp"
#include "calibration/device/hopper.cuh"
#include "calibration/device/own_gemm.hpp"
#include "calibration/device/tensor_map.hpp"
#include "calibration/device/waiting.cuh"
#include "calibration/hardware.hpp"

namespace weft::calibration::device {
namespace {

constexpr int tile_m = own_tile_m, tile_k = own_tile_k;
constexpr int warpgroup = 128, multiplying_warpgroups = 2, threads = warpgroup * (1 + multiplying_warpgroups);
constexpr int rows_of_warpgroup = tile_m / multiplying_warpgroups;
constexpr int piece_columns = box_columns;
constexpr int element_bytes = 2;
// The multiplying warpgroups get most of them. An SM has 65,536: what is left lets small kernels in beside ours, such
// as those that signal what our tiles wait for, and sums.
constexpr int registers_of_thread = own_gemm_registers_per_thread;
constexpr int registers_of_movers = 40, registers_of_multipliers = 216;

template <int tile_n>
struct SharedMemory {
  static constexpr int stages = own_stages(tile_n);
  alignas(1024) __nv_bfloat16 a[stages][tile_m * tile_k];
  alignas(1024) __nv_bfloat16 b[stages][tile_n * tile_k];
  alignas(1024) __nv_bfloat16 staged[tile_n / piece_columns][tile_m * piece_columns];
  hopper::Barrier loaded[stages], multiplied[stages];
  hopper::Barrier tile_staged, tile_read;
};

/// The tiles of one CTA, ascending.
template <int cluster>
struct OwnTiles {
  std::int64_t tile, step;
  __device__ OwnTiles() : tile(static_cast<std::int64_t>(blockIdx.x)), step(static_cast<std::int64_t>(gridDim.x)) {}
  __device__ void advance() { tile += step; }
};

/// Follows a CTA's tiles through the groups.
struct GroupOfTile {
  const OwnGemmGroup* group;
  __device__ bool advance_to(std::int64_t tile) {
    bool is_new = false;
    for (; tile >= group->first_tile + group->tiles; ++group) is_new = true;
    return is_new;
  }
};

template <int tile_n, int cluster>
__device__ void load_tiles(SharedMemory<tile_n>& shared, const CUtensorMap& a, const CUtensorMap& b,
                           const OwnGemmWork& work) {
  constexpr int stage_bytes = (tile_m + tile_n) * tile_k * element_bytes;
  constexpr int rows_of_b = tile_n / cluster;
  const int cta = cluster > 1 ? hopper::cta_of_cluster() : 0;
  const std::uint64_t iteration = work.iterations != nullptr ? *work.iterations : 0;
  hopper::Ring<own_stages(tile_n)> ring;
  GroupOfTile in{work.groups};
  bool is_first = true;
  for (OwnTiles<cluster> own; own.tile < work.grid.tiles(); own.advance()) {
    if (in.advance_to(own.tile) || is_first) {
      for (int i = 0; i < in.group->waits; ++i)
        wait_for_count(work.waits[in.group->first_wait + i], iteration, work.limit);
      if (in.group->waits > 0) hopper::order_with_copies();
    }
    is_first = false;
    const Tile place = tile_at(work.order, work.grid, own.tile);
    const int row_a = static_cast<int>(place.row) * tile_m;
    const int row_b = static_cast<int>(place.column) * tile_n + cta * rows_of_b;
    for (int step = 0; step < work.k_steps; ++step, ring.advance()) {
      hopper::wait(shared.multiplied[ring.slot], ring.parity ^ 1);
      hopper::Barrier& loaded = shared.loaded[ring.slot];
      hopper::arrive_and_expect(loaded, stage_bytes);
      hopper::load(shared.a[ring.slot], a, step * tile_k, row_a, loaded);
      __nv_bfloat16* const part_of_b = shared.b[ring.slot] + cta * rows_of_b * tile_k;
      if constexpr (cluster > 1)
        hopper::load_for_all(part_of_b, b, step * tile_k, row_b, loaded, (1 << cluster) - 1);
      else
        hopper::load(part_of_b, b, step * tile_k, row_b, loaded);
    }
  }
}

/// Counts a stored tile; the last one of its group raises the group's counters. Each count releases what was stored to
/// the last one, and by that to whoever waits. Fences are as weak as they may be, and few: on H100s one for the whole
/// system takes 2 us.
__device__ void count_tile(const OwnGemmGroup& group, const OwnGemmWork& work) {
  hopper::wait_until_stored();
  cuda::atomic_ref<std::uint32_t, cuda::thread_scope_device> stored(*group.stored);
  if (stored.fetch_add(1, cuda::memory_order_acq_rel) + 1 != group.tiles) return;
  stored.store(0, cuda::memory_order_relaxed);
  if (group.signals_peers)
    cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_system);
  else
    cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_device);
  for (int i = 0; i < group.signals; ++i)
    SharedWord<std::uint64_t>(*work.signals[group.first_signal + i]).fetch_add(1, cuda::memory_order_relaxed);
}

template <int tile_n, int cluster>
__device__ void store_tiles(SharedMemory<tile_n>& shared, const CUtensorMap& c, const OwnGemmReplicas& replicas,
                            const OwnGemmWork& work) {
  constexpr int pieces = tile_n / piece_columns;
  const int block_rows = tile_m / work.blocks;
  std::uint32_t parity = 0;
  GroupOfTile in{work.groups};
  for (OwnTiles<cluster> own; own.tile < work.grid.tiles(); own.advance(), parity ^= 1) {
    in.advance_to(own.tile);
    const OwnGemmGroup& group = *in.group;
    const Tile place = tile_at(work.order, work.grid, own.tile);
    hopper::wait(shared.tile_staged, parity);
    const int row = static_cast<int>(place.row) * tile_m, column = static_cast<int>(place.column) * tile_n;
    for (int piece = 0; piece < pieces; ++piece) {
      for (int block = 0; block < work.blocks; ++block) {
        const __nv_bfloat16* source = shared.staged[piece] + block * block_rows * piece_columns;
        if (work.by_tile)
          hopper::store(source, c, piece * piece_columns,
                        static_cast<int>(group.first_tile * tile_m +
                                         (block * group.tiles + own.tile - group.first_tile) * block_rows));
        else
          hopper::store(source, c, column + piece * piece_columns, row);
      }
      if (replicas.count == 0) continue;
      for (int replica = 0; replica < replicas.count; ++replica)
        hopper::store(shared.staged[piece], replicas.maps[replica], column + piece * piece_columns, row);
      // Links are slow: the loads of the next tiles, which the same unit makes, would stand behind all of these.
      hopper::end_group_of_stores();
      hopper::wait_until_read<1>();
    }
    hopper::end_group_of_stores();
    hopper::wait_until_read<0>();
    hopper::arrive(shared.tile_read);
    if (group.signals > 0) count_tile(group, work);
  }
  hopper::wait_until_stored();
}

template <int count>
__device__ void add_stored(float (&sums)[count], const OwnGemmWork& work, std::int64_t first_row,
                           std::int64_t first_column) {
  const auto* c = static_cast<const __nv_bfloat16*>(work.addend);
#pragma unroll
  for (int i = 0; i < count; i += 2) {
    const std::int64_t row = first_row + i / 2 % 2 * 8, column = first_column + i / 4 * 8;
    if (row >= work.m || column >= work.n) continue;
    const auto pair = *reinterpret_cast<const __nv_bfloat162*>(c + row * work.addend_stride + column);
    sums[i] += __low2float(pair), sums[i + 1] += __high2float(pair);
  }
}

/// Where a row of a tile lies among the staged rows: those of each block together.
__device__ int staged_row(const OwnGemmWork& work, int row) {
  return work.rows_in_turn ? row % work.blocks * (tile_m / work.blocks) + row / work.blocks : row;
}

template <int tile_n>
__device__ void stage(SharedMemory<tile_n>& shared, const float (&sums)[tile_n / 2], const OwnGemmWork& work,
                      int first_row) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int row = staged_row(work, first_row + lane / 8 % 2 * 8 + lane % 8);
#pragma unroll
  for (int columns = 0; columns < tile_n; columns += 16) {
    const int i = columns / 2, chunk = columns / 8 % 8 + lane / 16;
    const std::uint32_t values[4] = {hopper::packed(sums[i], sums[i + 1]), hopper::packed(sums[i + 2], sums[i + 3]),
                                     hopper::packed(sums[i + 4], sums[i + 5]),
                                     hopper::packed(sums[i + 6], sums[i + 7])};
    auto* piece = reinterpret_cast<std::byte*>(shared.staged[columns / piece_columns]);
    hopper::store_matrices(piece + row * 128 + (chunk ^ row % 8) * 16, values);
  }
}

template <int tile_n, int cluster>
__device__ void multiply_tiles(SharedMemory<tile_n>& shared, const OwnGemmWork& work) {
  const int thread = static_cast<int>(threadIdx.x) % warpgroup, lane = thread % 32;
  const int first_row = (static_cast<int>(threadIdx.x) / warpgroup - 1) * rows_of_warpgroup;
  const int first_row_of_warp = first_row + thread / 32 * 16;
  hopper::Ring<own_stages(tile_n)> ring;
  const auto release = [&](int slot) {
    if (thread >= cluster) return;
    if constexpr (cluster > 1)
      hopper::arrive_at(shared.multiplied[slot], thread);
    else
      hopper::arrive(shared.multiplied[slot]);
  };
  float sums[tile_n / 2];
  std::uint32_t parity = 0;
  for (OwnTiles<cluster> own; own.tile < work.grid.tiles(); own.advance(), parity ^= 1) {
    int previous = 0;
    for (int step = 0; step < work.k_steps; ++step, ring.advance()) {
      hopper::wait(shared.loaded[ring.slot], ring.parity);
      std::uint64_t a = hopper::matrix_descriptor(shared.a[ring.slot] + first_row * tile_k);
      std::uint64_t b = hopper::matrix_descriptor(shared.b[ring.slot]);
      hopper::begin_mma();
#pragma unroll
      for (int part = 0; part < tile_k / hopper::mma_k; ++part, a += hopper::next_k, b += hopper::next_k)
        hopper::multiply(sums, a, b, step + part);
      hopper::end_group_of_mma();
      if (step > 0) {
        hopper::wait_for_mma<1>();
        release(previous);
      }
      previous = ring.slot;
    }
    hopper::wait_for_mma<0>();
    release(previous);
    if (work.addend != nullptr) {
      const Tile place = tile_at(work.order, work.grid, own.tile);
      add_stored(sums, work, place.row * tile_m + first_row_of_warp + lane / 4, place.column * tile_n + lane % 4 * 2);
    }
    hopper::wait(shared.tile_read, parity ^ 1);
    stage<tile_n>(shared, sums, work, first_row_of_warp);
    hopper::order_with_copies();
    hopper::arrive(shared.tile_staged);
  }
}

/// The last CTA counts the iteration, whose number all have read.
__device__ void count_iteration(const OwnGemmWork& work) {
  auto* ended = reinterpret_cast<std::uint32_t*>(work.iterations + 1);
  __threadfence();
  if (atomicInc(ended, gridDim.x - 1) + 1 == gridDim.x) ++*work.iterations;
}

template <int tile_n, int cluster>
__global__ void __maxnreg__(registers_of_thread)
    own_gemm_kernel(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b,
                    const __grid_constant__ CUtensorMap c, const __grid_constant__ OwnGemmReplicas replicas,
                    const __grid_constant__ OwnGemmWork work) {
  extern __shared__ std::byte memory[];
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
    hopper::publish_barriers();
  }
  if constexpr (cluster > 1)
    hopper::meet_cluster();
  else
    __syncthreads();

  if (threadIdx.x < warpgroup) {
    hopper::give_registers_back<registers_of_movers>();
    if (threadIdx.x == 0) load_tiles<tile_n, cluster>(shared, a, b, work);
    if (threadIdx.x == 32) store_tiles<tile_n, cluster>(shared, c, replicas, work);
    __syncwarp();
  } else {
    hopper::take_registers<registers_of_multipliers>();
    multiply_tiles<tile_n, cluster>(shared, work);
  }
  // Nobody leaves while a peer may still load into its memory or arrive at its barriers.
  if constexpr (cluster > 1)
    hopper::meet_cluster();
  else
    __syncthreads();
  if (work.iterations != nullptr && threadIdx.x == 0) count_iteration(work);
}

using Kernel = void (*)(CUtensorMap, CUtensorMap, CUtensorMap, OwnGemmReplicas, OwnGemmWork);
struct Variant {
  int tile_n, cluster_m;
  Kernel kernel;
  int shared_bytes;
};
template <int tile_n, int cluster>
constexpr Variant variant() {
  return {tile_n, cluster, own_gemm_kernel<tile_n, cluster>, static_cast<int>(sizeof(SharedMemory<tile_n>)) + 1024};
}

const Variant& variant_of(const GemmKernel& kernel) {
  static constexpr Variant variants[] = {variant<256, 2>(), variant<256, 1>(), variant<192, 2>(),
                                         variant<192, 1>(), variant<128, 2>(), variant<128, 1>()};
  return *std::ranges::find_if(
      variants, [&](const Variant& one) { return one.tile_n == kernel.tile_n && one.cluster_m == kernel.cluster_m; });
}

int sms_of_device() {
  int device = 0, sms = 0;
  WEFT_CHECK(cudaGetDevice(&device));
  WEFT_CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device));
  return sms;
}

}  // namespace

OwnGemm::OwnGemm(const Operands& operands, const GemmKernel& kernel, int max_sms, const OwnGemmWork& work)
    : kernel_(kernel), work_(work) {
  const MatrixSize& size = operands.size;
  const int block_rows = tile_m / work.blocks;
  a_ = tensor_map(operands.a, size.m, size.k, operands.a_stride, tile_m);
  b_ = tensor_map(operands.b, size.n, size.k, operands.b_stride, kernel.tile_n / kernel.cluster_m);
  c_ = work.by_tile ? tensor_map(operands.c, work.grid.tiles() * tile_m, kernel.tile_n, kernel.tile_n, block_rows)
                    : tensor_map(operands.c, size.m, size.n, operands.c_stride, tile_m);
  for (const Operands::Replica& replica : operands.replicas)
    replicas_.maps[replicas_.count++] = tensor_map(replica.data, size.m, size.n, replica.stride, tile_m);
  const auto tiles = static_cast<int>(work.grid.tiles());
  const bool is_grid = kernel.scheduler == TileScheduler::grid;
  ctas_ = is_grid ? tiles : std::min(tiles, max_sms > 0 ? max_sms : sms_of_device());
  ctas_ = std::max(kernel.cluster_m, ctas_ / kernel.cluster_m * kernel.cluster_m);
  const Variant& variant = variant_of(kernel);
  WEFT_CHECK(cudaFuncSetAttribute(reinterpret_cast<const void*>(variant.kernel),
                                  cudaFuncAttributeMaxDynamicSharedMemorySize, variant.shared_bytes));
}

void OwnGemm::enqueue(cudaStream_t stream) const {
  const Variant& variant = variant_of(kernel_);
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(ctas_));
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = static_cast<std::size_t>(variant.shared_bytes);
  config.stream = stream;
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {static_cast<unsigned>(kernel_.cluster_m), 1, 1};
  config.attrs = &cluster, config.numAttrs = 1;
  WEFT_CHECK(cudaLaunchKernelEx(&config, variant.kernel, a_, b_, c_, replicas_, work_));
}

}  // namespace weft::calibration::device
