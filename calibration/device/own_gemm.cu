#include "calibration/device/own_gemm.cuh"
#include "calibration/device/own_gemm.hpp"
#include "calibration/device/waiting.cuh"
#include "calibration/hardware.hpp"

namespace weft::calibration::device {
namespace {

using namespace own_tiles;

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
  Loader<tile_n, cluster> loader{shared, a, b, work.k_steps};
  const std::uint64_t iteration = work.iterations != nullptr ? *work.iterations : 0;
  GroupOfTile in{work.groups};
  bool is_first = true;
  for (CtaTiles own; own.tile < work.grid.tiles(); own.advance()) {
    if (in.advance_to(own.tile) || is_first) {
      for (int i = 0; i < in.group->waits; ++i)
        wait_for_count(work.waits[in.group->first_wait + i], iteration, work.limit);
      if (in.group->waits > 0) hopper::order_with_copies();
    }
    is_first = false;
    const Tile place = tile_at(work.order, work.grid, own.tile);
    loader.load(static_cast<int>(place.row) * tile_m, static_cast<int>(place.column) * tile_n);
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

template <int tile_n>
__device__ void store_tiles(SharedMemory<tile_n>& shared, const CUtensorMap& c, const OwnGemmReplicas& replicas,
                            const OwnGemmWork& work) {
  constexpr int pieces = tile_n / piece_columns;
  const int block_rows = tile_m / work.blocks;
  std::uint32_t parity = 0;
  GroupOfTile in{work.groups};
  for (CtaTiles own; own.tile < work.grid.tiles(); own.advance(), parity ^= 1) {
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

template <int tile_n, int cluster>
__device__ void multiply_tiles(SharedMemory<tile_n>& shared, const OwnGemmWork& work) {
  Multiplier<tile_n, cluster> multiplier{shared, work.k_steps};
  const int lane = multiplier.thread % 32, first_row = multiplier.first_row_of_warp();
  float sums[tile_n / 2];
  std::uint32_t parity = 0;
  for (CtaTiles own; own.tile < work.grid.tiles(); own.advance(), parity ^= 1) {
    multiplier.multiply(sums);
    if (work.addend != nullptr) {
      const Tile place = tile_at(work.order, work.grid, own.tile);
      add_stored(sums, work, place.row * tile_m + first_row + lane / 4, place.column * tile_n + lane % 4 * 2);
    }
    hopper::wait(shared.tile_read, parity ^ 1);
    stage<tile_n>(shared, sums, staged_row(work, first_row + row_of_lane()));
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
  SharedMemory<tile_n>& shared = begin<tile_n, cluster>(memory, a, b, c);
  share_out<cluster>([&] { load_tiles<tile_n, cluster>(shared, a, b, work); },
                     [&] { store_tiles<tile_n>(shared, c, replicas, work); },
                     [&] { multiply_tiles<tile_n, cluster>(shared, work); });
  if (work.iterations != nullptr && threadIdx.x == 0) count_iteration(work);
}

using Kernel = void (*)(CUtensorMap, CUtensorMap, CUtensorMap, OwnGemmReplicas, OwnGemmWork);

const Variant<Kernel>& variant_of(const GemmKernel& kernel) {
  static constexpr Variant<Kernel> variants[] = {
      variant<256, 2>(own_gemm_kernel<256, 2>), variant<256, 1>(own_gemm_kernel<256, 1>),
      variant<192, 2>(own_gemm_kernel<192, 2>), variant<192, 1>(own_gemm_kernel<192, 1>),
      variant<128, 2>(own_gemm_kernel<128, 2>), variant<128, 1>(own_gemm_kernel<128, 1>)};
  return variant_of(kernel, variants);
}

}  // namespace

OwnGemm::OwnGemm(const Operands& operands, const GemmKernel& kernel, int max_sms, const OwnGemmWork& work)
    : kernel_(kernel), work_(work), ctas_(ctas_for(kernel, work.grid.tiles(), max_sms)) {
  const MatrixSize& size = operands.size;
  const int block_rows = tile_m / work.blocks;
  a_ = tensor_map(operands.a, size.m, size.k, operands.a_stride, tile_m);
  b_ = tensor_map(operands.b, size.n, size.k, operands.b_stride, kernel.tile_n / kernel.cluster_m);
  c_ = work.by_tile ? tensor_map(operands.c, work.grid.tiles() * tile_m, kernel.tile_n, kernel.tile_n, block_rows)
                    : tensor_map(operands.c, size.m, size.n, operands.c_stride, tile_m);
  for (const Operands::Replica& replica : operands.replicas)
    replicas_.maps[replicas_.count++] = tensor_map(replica.data, size.m, size.n, replica.stride, tile_m);
  allow_shared_memory(variant_of(kernel));
}

void OwnGemm::enqueue(cudaStream_t stream) const {
  launch(variant_of(kernel_), ctas_, stream, a_, b_, c_, replicas_, work_);
}

}  // namespace weft::calibration::device
