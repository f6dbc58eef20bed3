#include "calibration/device/on_device.hpp"
#include "calibration/device/own_gemm.cuh"
#include "calibration/device/own_grouped_gemm.hpp"
#include "models/base/division.hpp"

namespace weft::calibration::device {
namespace {

using namespace own_tiles;

/// Of the smallest box that has so many rows, or one.
__device__ int box_of(int rows) { return __clz(max(rows, 1) - 1) - __clz(tile_m - 1); }

/// A box may have rows of the next group too, and what it has not is whatever an earlier tile had: they make sums that
/// are not stored.
template <int tile_n, int cluster>
__device__ void load_tiles(SharedMemory<tile_n>& shared, const RowBoxes& a, const CUtensorMap& b,
                           const OwnGroupedGemmWork& work) {
  Loader<tile_n, cluster> loader{shared, b};
  for (CtaTiles own; own.tile < work.count; own.advance()) {
    const GroupedTile tile = work.tiles[own.tile];
    const int box = box_of(tile.rows);
    loader.load(
        a.maps[box], tile.row, tile.weight_row, {0, work.k_steps}, [](int) {}, tile_m >> box);
  }
}

/// The first `rows` rows of a staged piece, by the boxes that add up to them, the largest first. The swizzle is one of
/// addresses, and so the same whichever row a box begins with.
__device__ void store_rows(const __nv_bfloat16* piece, const RowBoxes& c, int column, int row, int rows) {
  int first = 0;
  for (int i = 0; i < RowBoxes::count; ++i) {
    const int rows_of_box = tile_m >> i;
    if ((rows & rows_of_box) == 0) continue;
    hopper::store(piece + first * piece_columns, c.maps[i], column, row + first);
    first += rows_of_box;
  }
}

template <int tile_n>
__device__ void store_tiles(SharedMemory<tile_n>& shared, const RowBoxes& c, const OwnGroupedGemmWork& work) {
  std::uint32_t parity = 0;
  for (CtaTiles own; own.tile < work.count; own.advance(), parity ^= 1) {
    const GroupedTile tile = work.tiles[own.tile];
    hopper::wait(shared.tile_staged, parity);
    for (int piece = 0; piece < tile_n / piece_columns; ++piece)
      store_rows(shared.staged[piece], c, tile.column + piece * piece_columns, tile.row, tile.rows);
    hopper::end_group_of_stores();
    hopper::wait_until_read<0>();
    hopper::arrive(shared.tile_read);
  }
}

template <int tile_n, int cluster>
__device__ void multiply_tiles(SharedMemory<tile_n>& shared, const OwnGroupedGemmWork& work) {
  Multiplier<tile_n, cluster> multiplier{shared};
  const int staged_row = multiplier.first_row_of_warp() + row_of_lane();
  float sums[tile_n / 2];
  std::uint32_t parity = 0;
  for (CtaTiles own; own.tile < work.count; own.advance(), parity ^= 1) {
    if (multiplier.first_row < work.tiles[own.tile].rows)
      multiplier.multiply(sums, work.k_steps);
    else
      multiplier.skip(work.k_steps);
    hopper::wait(shared.tile_read, parity ^ 1);
    stage<tile_n>(shared, sums, staged_row);
    hopper::order_with_copies();
    hopper::arrive(shared.tile_staged);
  }
}

template <int tile_n, int cluster>
__global__ void __maxnreg__(registers_of_thread)
    own_grouped_gemm_kernel(const __grid_constant__ RowBoxes a, const __grid_constant__ CUtensorMap b,
                            const __grid_constant__ RowBoxes c, const __grid_constant__ OwnGroupedGemmWork work) {
  extern __shared__ std::byte memory[];
  SharedMemory<tile_n>& shared = begin<tile_n, cluster>(memory, a.maps[0], b, c.maps[0]);
  share_out<cluster>([&] { load_tiles<tile_n, cluster>(shared, a, b, work); },
                     [&] { store_tiles<tile_n>(shared, c, work); },
                     [&] { multiply_tiles<tile_n, cluster>(shared, work); }, [] {});
}

using Kernel = void (*)(RowBoxes, CUtensorMap, RowBoxes, OwnGroupedGemmWork);

const Variant<Kernel>& variant_of(const GemmKernel& kernel) {
  static constexpr Variant<Kernel> variants[] = {
      variant<256, 2>(own_grouped_gemm_kernel<256, 2>), variant<256, 1>(own_grouped_gemm_kernel<256, 1>),
      variant<192, 2>(own_grouped_gemm_kernel<192, 2>), variant<192, 1>(own_grouped_gemm_kernel<192, 1>),
      variant<128, 2>(own_grouped_gemm_kernel<128, 2>), variant<128, 1>(own_grouped_gemm_kernel<128, 1>)};
  return variant_of(kernel, variants);
}

}  // namespace

OwnGroupedGemm::OwnGroupedGemm(const Matrix& a, const Matrix& b, const Matrix& c, const GroupedSize& size,
                               const std::optional<GemmKernel>& kernel, Arena& arena)
    : kernel_(kernel ? *kernel : own_grouped_kernel(size, sms_of_gpu())) {
  const std::vector<GroupedTile> tiles = grouped_tiles(size, kernel_);
  work_ = {.tiles = on_device(tiles, arena),
           .count = static_cast<std::int64_t>(tiles.size()),
           .k_steps = static_cast<int>(divided_up(size.k, tile_k))};
  ctas_ = ctas_for(kernel_, work_.count, 0);
  b_ = tensor_map(b.data, b.rows, b.columns, b.stride, kernel_.tile_n / kernel_.cluster_m);
  for (int i = 0; i < RowBoxes::count; ++i) {
    a_.maps[i] = tensor_map(a.data, a.rows, a.columns, a.stride, tile_m >> i);
    c_.maps[i] = tensor_map(c.data, c.rows, c.columns, c.stride, tile_m >> i);
  }
  allow_shared_memory(variant_of(kernel_));
}

void OwnGroupedGemm::enqueue(cudaStream_t stream) const {
  launch(variant_of(kernel_), ctas_, stream, a_, b_, c_, work_);
}

}  // namespace weft::calibration::device
