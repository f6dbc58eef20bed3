#include <limits>

#include "calibration/device/on_device.hpp"
#include "calibration/device/own_gemm.cuh"
#include "calibration/device/own_gemm.hpp"
#include "calibration/device/own_gemm_fetch.cuh"
#include "calibration/device/own_gemm_peers.cuh"
#include "calibration/device/own_gemm_slices.cuh"
#include "calibration/device/waiting.cuh"
#include "calibration/hardware.hpp"

namespace weft::calibration::device {
namespace {

using namespace own_tiles;

constexpr int rows_of_peer_box = 16, boxes_on_the_way = 4;

/// Follows a CTA's tiles through the groups.
struct GroupOfTile {
  const OwnGemmGroup* group;
  __device__ bool advance_to(std::int64_t tile) {
    bool is_new = false;
    for (; tile >= group->first_tile + group->tiles; ++group) is_new = true;
    return is_new;
  }
};

/// Until the first `waits` things that a group's tiles wait for have come, for the calling thread's copies too.
__device__ void wait_for_group(const OwnGemmGroup& group, int waits, const OwnGemmWork& work, std::uint64_t iteration) {
  for (int i = 0; i < waits; ++i) wait_for_count(work.waits[group.first_wait + i], iteration, work.limit);
  if (waits > 0) hopper::order_with_copies();
}
__device__ std::uint64_t iteration_of(const OwnGemmWork& work) {
  return work.iterations != nullptr ? *work.iterations : 0;
}

/// Where a tile lies: its block of rows, and in it the first row and column.
struct PlaceOfTile {
  const OwnGemmBlock* block;
  int row, column;
  __device__ PlaceOfTile(std::int64_t number, int tile_n, const OwnGemmWork& work) : block(work.block_of_rows) {
    const std::int64_t tiles = work.grid.tiles();
    for (; number >= tiles; number -= tiles) ++block;
    const Tile tile = tile_at(work.order, work.grid, number);
    row = static_cast<int>(tile.row) * tile_m, column = static_cast<int>(tile.column) * tile_n;
  }
};

template <int tile_n, int cluster>
__device__ void load_tiles(SharedMemory<tile_n>& shared, const CUtensorMap& b, const OwnGemmWork& work) {
  Loader<tile_n, cluster> loader{shared, b};
  const std::uint64_t iteration = iteration_of(work);
  RowsThatCome coming(work, iteration);
  GroupOfTile in{work.groups};
  bool is_first = true;
  for (OwnTiles<cluster> own(work); own.is_there(); own.advance()) {
    if (work.waits_to_start && (in.advance_to(own.tile()) || is_first))
      wait_for_group(*in.group, in.group->waits_to_start, work, iteration);
    is_first = false;
    const PlaceOfTile place(own.tile(), tile_n, work);
    if (work.meeting.fetches) coming.begin_tile(place.block->fetched, place.row);
    loader.load(place.block->a, place.row, place.column, own.steps(), [&](int step) {
      if (work.meeting.fetches) coming.wait_for(step);
    });
  }
}

/// Counts a tile of a group that tells of itself when all are stored. Is it the last?
__device__ bool is_last_stored(const OwnGemmGroup& group) {
  cuda::atomic_ref<std::uint32_t, cuda::thread_scope_device> stored(*group.stored);
  if (stored.fetch_add(1, cuda::memory_order_acq_rel) + 1 != group.tiles) return false;
  stored.store(0, cuda::memory_order_relaxed);
  return true;
}

/// Raises the counters of a group for a tile that is stored, or for all. Each count releases what was stored, and that
/// of the last tile what the counts before it released. Fences are as weak as they may be, and few: on H100s one for
/// the whole system takes 2 us.
__device__ void count_tile(const OwnGemmGroup& group, const OwnGemmWork& work) {
  hopper::wait_until_stored<0>();
  if (!group.counts_tiles && !is_last_stored(group)) return;
  if (group.signals_peers)
    cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_system);
  else
    cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_device);
  for (int i = 0; i < group.signals; ++i)
    SharedWord<std::uint64_t>(*work.signals[group.first_signal + i]).fetch_add(1, cuda::memory_order_relaxed);
}

/// Into the place where the product will be staged, which nobody reads any more: it comes while the product is made.
template <int tile_n>
__device__ void load_addend(SharedMemory<tile_n>& shared, const CUtensorMap& addend, int row, int column) {
  hopper::arrive_and_expect(shared.addend_loaded, tile_m * tile_n * element_bytes);
  for (int piece = 0; piece < tile_n / piece_columns; ++piece)
    hopper::load(shared.staged[piece], addend, column + piece * piece_columns, row, shared.addend_loaded);
}

/// Links are slow, and the loads of the next tile, which the same unit makes, stand behind what it has been given to
/// store. With `gives_way` that is little at a time.
template <int tile_n>
__device__ void store_on_peers(SharedMemory<tile_n>& shared, const OwnGemmBlock& rows, int row, int column,
                               bool gives_way) {
  if (rows.peer_count == 0) return;
  for (int first = 0; first < tile_m; first += rows_of_peer_box)
    for (int piece = 0; piece < tile_n / piece_columns; ++piece) {
      for (int peer = 0; peer < rows.peer_count; ++peer)
        hopper::store(shared.staged[piece] + first * piece_columns, rows.on_peers[peer], column + piece * piece_columns,
                      row + first);
      hopper::end_group_of_stores();
      if (gives_way) hopper::wait_until_stored<boxes_on_the_way>();
    }
}

template <int tile_n, int cluster>
__device__ void store_tiles(SharedMemory<tile_n>& shared, const OwnGemmWork& work) {
  constexpr int pieces = tile_n / piece_columns;
  const int block_rows = tile_m / work.blocks;
  const std::uint64_t iteration = iteration_of(work);
  const MeetingOfRanks ranks(work, iteration);
  if (meets_peers(work) && blockIdx.x == 0) ranks.say(Moment::begin);
  std::uint32_t parity = 0;
  GroupOfTile in{work.groups};
  bool is_first = true, stores_on_peers = false;
  for (OwnTiles<cluster> own(work); own.is_there() && own.is_last_slice(); own.advance(), parity ^= 1) {
    const bool is_new = in.advance_to(own.tile()) || is_first;
    if (is_first && meets_peers(work)) ranks.wait_for(Moment::begin);
    is_first = false;
    const OwnGemmGroup& group = *in.group;
    const PlaceOfTile place(own.tile(), tile_n, work);
    const OwnGemmBlock& rows = *place.block;
    if (rows.adds) {
      if (is_new) wait_for_group(group, group.waits, work, iteration);
      load_addend<tile_n>(shared, rows.addend, place.row, place.column);
    }
    hopper::wait(shared.tile_staged, parity);
    for (int piece = 0; piece < pieces && rows.keeps_c; ++piece)
      for (int block = 0; block < work.blocks; ++block) {
        const __nv_bfloat16* source = shared.staged[piece] + block * block_rows * piece_columns;
        if (work.by_tile)
          hopper::store(source, rows.c, piece * piece_columns,
                        static_cast<int>(group.first_tile * tile_m +
                                         (block * group.tiles + own.tile() - group.first_tile) * block_rows));
        else
          hopper::store(source, rows.c, place.column + piece * piece_columns, place.row);
      }
    for (int piece = 0; piece < pieces; ++piece)
      for (int replica = 0; replica < rows.replica_count; ++replica)
        hopper::store(shared.staged[piece], rows.replicas[replica], place.column + piece * piece_columns, place.row);
    store_on_peers<tile_n>(shared, rows, place.row, place.column, work.stores_give_way && !own.is_last());
    stores_on_peers |= rows.peer_count > 0;
    hopper::end_group_of_stores();
    hopper::wait_until_read<0>();
    hopper::arrive(shared.tile_read);
    if (group.signals > 0) count_tile(group, work);
  }
  if (stores_on_peers || work.meeting.at_end)
    hopper::wait_until_stored<0>();  // the kernel's end waits for its own GPU's
  if (!work.meeting.at_end) return;
  if (work.meeting.ends_with_stores) leave_peers(work, ranks);
  if (blockIdx.x == 0) ranks.wait_for(Moment::end);
}

/// Where a row of a tile lies among the staged rows: those of each block together.
__device__ int staged_row(const OwnGemmWork& work, int row) {
  return work.rows_in_turn ? row % work.blocks * (tile_m / work.blocks) + row / work.blocks : row;
}

template <int tile_n, int cluster>
__device__ void multiply_tiles(SharedMemory<tile_n>& shared, const OwnGemmWork& work) {
  Multiplier<tile_n, cluster> multiplier{shared};
  const int first_row = multiplier.first_row_of_warp();
  float sums[tile_n / 2];
  std::uint32_t parity = 0, addend_parity = 0;
  for (OwnTiles<cluster> own(work); own.is_there(); own.advance(), parity ^= 1) {
    const bool adds = work.adds && PlaceOfTile(own.tile(), tile_n, work).block->adds;
    multiplier.multiply(sums, own.steps().count());
    if (own.is_cut()) {
      const SumsOfSlices<tile_n> others(work, own.tile());
      if (!own.is_last_slice()) return others.give(sums, own.slice());  // the CTA has no other tile
      others.take(sums);
    }
    const int staged = staged_row(work, first_row + row_of_lane());
    if (adds) {
      hopper::wait(shared.addend_loaded, addend_parity);
      addend_parity ^= 1;
      add_staged<tile_n>(shared, sums, staged);
    } else {
      hopper::wait(shared.tile_read, parity ^ 1);
    }
    stage<tile_n>(shared, sums, staged);
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

/// What the first tile needs is read from several places, each behind the other and, since the last GEMM swept the L2,
/// from HBM, in a microsecond: all of them at once, while the CTA sets itself up.
__device__ void prefetch_arrays(const OwnGemmWork& work) {
  constexpr int line_bytes = 128, lines_of_block = (sizeof(OwnGemmBlock) + line_bytes - 1) / line_bytes;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const auto* block = reinterpret_cast<const std::byte*>(work.block_of_rows);
  for (int line = lane; line < lines_of_block; line += 32) hopper::prefetch_line(block + line * line_bytes);
  if (lane == 0) hopper::prefetch_line(work.groups);
  if (lane == 1 && work.iterations != nullptr) hopper::prefetch_line(work.iterations);
}

template <int tile_n, int cluster>
__global__ void __maxnreg__(registers_of_thread)
    own_gemm_kernel(const __grid_constant__ CUtensorMap b, const __grid_constant__ OwnGemmWork work) {
  extern __shared__ std::byte memory[];
  if (threadIdx.x / 32 == first_idle_warp) prefetch_arrays(work);
  SharedMemory<tile_n>& shared = begin<tile_n, cluster>(memory, work.block_of_rows->a, b, work.block_of_rows->c);
  share_out<cluster>([&] { load_tiles<tile_n, cluster>(shared, b, work); },
                     [&] { store_tiles<tile_n, cluster>(shared, work); },
                     [&] { multiply_tiles<tile_n, cluster>(shared, work); },
                     [&] {
                       if (work.meeting.fetches)
                         fetch_rows(work, iteration_of(work), reinterpret_cast<FetchRing&>(*(&shared + 1)));
                     });
  if (work.iterations != nullptr && threadIdx.x == 0) count_iteration(work);
}

using Kernel = void (*)(CUtensorMap, OwnGemmWork);

const Variant<Kernel>& variant_of(const GemmKernel& kernel) {
  static constexpr Variant<Kernel> variants[] = {
      variant<256, 2>(own_gemm_kernel<256, 2>), variant<256, 1>(own_gemm_kernel<256, 1>),
      variant<192, 2>(own_gemm_kernel<192, 2>), variant<192, 1>(own_gemm_kernel<192, 1>),
      variant<128, 2>(own_gemm_kernel<128, 2>), variant<128, 1>(own_gemm_kernel<128, 1>)};
  return variant_of(kernel, variants);
}
Variant<Kernel> with_ring(Variant<Kernel> variant) {
  variant.shared_bytes += static_cast<int>(sizeof(FetchRing));
  return variant;
}

FetchedRows fetched(const Matrix& from, const Matrix& to, const OwnGemmWork& work, Arena& arena) {
  return {.from = static_cast<const std::byte*>(from.data),
          .to = static_cast<std::byte*>(to.data),
          .from_stride = from.stride * element_bytes,
          .to_stride = to.stride * element_bytes,
          .come = on_device(std::vector<std::uint64_t>(static_cast<std::size_t>(work.fetch.bands * work.fetch.chunks)),
                            arena)};
}

/// The tiles of a last wave that does not fill the CTAs; none of another scheduler's. `ready_tiles`: those whose rows
/// do not come from peers.
CutTiles cut_of(const OwnGemmWork& work, const GemmKernel& kernel, int ctas, std::int64_t ready_tiles, Arena& arena) {
  CutTiles cut{.first_tile = work.tiles};
  if (kernel.scheduler != TileScheduler::stream_k) return cut;
  cut.slices = static_cast<int>(slices_of_last_wave(work.tiles, ctas, work.k_steps, ready_tiles));
  if (cut.slices == 1) return cut;
  const std::int64_t tiles = work.tiles % ctas;
  cut.first_tile -= tiles;
  const auto given = static_cast<std::size_t>(tiles * (cut.slices - 1));
  cut.sums = static_cast<float*>(arena.allocate(static_cast<Bytes>(given * sizeof(float)) * tile_m * kernel.tile_n));
  cut.come = on_device(std::vector<std::uint32_t>(static_cast<std::size_t>(tiles * multiplying_warpgroups)), arena);
  return cut;
}

/// Of a kernel that fetches rows, CTAs without a tile do so too; others only cut tiles need.
int ctas_of(const OwnGemmWork& work, const GemmKernel& kernel, int max_sms) {
  if (work.meeting.fetches) return ctas_for(kernel, std::numeric_limits<int>::max(), max_sms);
  if (kernel.scheduler != TileScheduler::stream_k) return ctas_for(kernel, work.tiles, max_sms);
  const int most = ctas_for(kernel, std::numeric_limits<int>::max(), max_sms);
  return ctas_for(kernel, work.tiles * slices_of_last_wave(work.tiles, most, work.k_steps, work.tiles), max_sms);
}

}  // namespace

OwnGemm::OwnGemm(const MatrixSize& size, const std::vector<RowBlockMatrices>& blocks, const Matrix& b,
                 const GemmKernel& kernel, int max_sms, const OwnGemmWork& work, Arena& arena)
    : kernel_(kernel),
      b_(tensor_map(b.data, size.n, size.k, b.stride, kernel.tile_n / kernel.cluster_m)),
      work_(work),
      ctas_(ctas_of(work, kernel, max_sms)) {
  const auto tiles_of = [&](const Matrix& matrix) {
    return tensor_map(matrix.data, size.m, size.n, matrix.stride, tile_m);
  };
  std::vector<OwnGemmBlock> rows;
  for (const RowBlockMatrices& block : blocks) {
    work_.adds |= block.addend.has_value();
    OwnGemmBlock& one = rows.emplace_back();
    one.a = tensor_map(block.a.data, size.m, size.k, block.a.stride, tile_m);
    one.c = work.by_tile
                ? tensor_map(block.c.data, work.tiles * tile_m, kernel.tile_n, kernel.tile_n, tile_m / work.blocks)
                : tiles_of(block.c);
    one.adds = block.addend.has_value();
    if (one.adds) one.addend = tiles_of(*block.addend);
    for (const Matrix& replica : block.replicas) one.replicas[one.replica_count++] = tiles_of(replica);
    const auto add_on_peer = [&](const Matrix& matrix) {
      one.on_peers[one.peer_count++] = tensor_map(matrix.data, size.m, size.n, matrix.stride, rows_of_peer_box);
    };
    if (block.a_from) one.fetched = fetched(*block.a_from, block.a, work, arena);
    one.keeps_c = !block.c_is_on_peer;
    if (block.c_is_on_peer) add_on_peer(block.c);
    for (const Matrix& replica : block.replicas_on_peers) add_on_peer(replica);
  }
  work_.block_of_rows = on_device(rows, arena);
  work_.blocks_of_rows = static_cast<int>(rows.size());
  const auto is_there = [](const RowBlockMatrices& block) { return !block.a_from; };
  const std::int64_t ready = std::ranges::find_if_not(blocks, is_there) - blocks.begin();
  work_.cut = cut_of(work, kernel, ctas_, ready * work.grid.tiles(), arena);
  allow_shared_memory(with_ring(variant_of(kernel)));
}

void OwnGemm::enqueue(cudaStream_t stream) const {
  const Variant<Kernel>& variant = variant_of(kernel_);
  launch(work_.meeting.fetches ? with_ring(variant) : variant, ctas_, stream, b_, work_);
}

}  // namespace weft::calibration::device
