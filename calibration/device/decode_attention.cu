#include "calibration/device/check.hpp"
#include "calibration/device/decode_pieces.cuh"
#include "calibration/device/decode_warp.cuh"
#include "calibration/device/on_device.hpp"

namespace weft::calibration::device {
namespace decoding {
namespace {

/// As many boxes of a warp's keys as hold `keys`, where a box of a whole tile would read what others need.
template <int head_dim>
__device__ void load_boxes_of_warps(__nv_bfloat16 (&boxes)[head_dim / box_columns][box_elements],
                                    const CUtensorMap& rows, int column, int row, int keys, hopper::Barrier& loaded) {
  constexpr int elements = keys_of_warp * box_columns;
  const int count = (keys + keys_of_warp - 1) / keys_of_warp;
  hopper::arrive_and_expect(loaded, count * head_dim / box_columns * elements * 2);
#pragma unroll 1
  for (int box = 0; box < head_dim / box_columns; ++box)
#pragma unroll 1
    for (int i = 0; i < count; ++i)
      hopper::load(boxes[box] + i * elements, rows, column + box * box_columns, row + i * keys_of_warp, loaded);
}

template <int head_dim>
__device__ void load_few(SharedMemory<head_dim>& shared, Ring& ring, const CUtensorMap& rows, int key_column,
                         int value_column, int row, int keys) {
  hopper::wait(shared.keys_free[ring.slot], ring.parity ^ 1);
  load_boxes_of_warps<head_dim>(shared.keys[ring.slot], rows, key_column, row, keys, shared.keys_loaded[ring.slot]);
  hopper::wait(shared.values_free[ring.slot], ring.parity ^ 1);
  load_boxes_of_warps<head_dim>(shared.values[ring.slot], rows, value_column, row, keys,
                                shared.values_loaded[ring.slot]);
  ring.advance();
}

template <int head_dim>
__device__ void load_tiles(SharedMemory<head_dim>& shared, const Maps& maps, const Shape& shape) {
  Ring ring;
  for_each_item(shape.shares, [&](int number, int begin, int end) {
    const Item item(shape, number);
    const int behind = shape.heads * head_dim, key = item.kv_head * head_dim,
              value = (shape.kv_heads + item.kv_head) * head_dim;
    for_each_tile(shape, begin, end, [&](const KeyTile& tile) {
      const int cached_row = item.sequence * shape.cached + tile.first_key;
      if (tile.is_own)
        load_few(shared, ring, maps.rows, behind + key, behind + value, item.sequence * shape.tokens, tile.keys);
      else if (tile.keys < tile_keys)
        load_few(shared, ring, maps.few_cached, key, value, cached_row, tile.keys);
      else
        flash::load_tile<head_dim>(shared, ring, maps.cached, key, value, cached_row);
    });
  });
}

__device__ void store(const Shape& shape, const Item& item, int head_dim, int row, int column, const Quad& quad) {
  auto* to = shape.output + item.token(shape, row) * shape.output_stride + item.head(row) * head_dim + column;
  *reinterpret_cast<Quad*>(to) = quad;
}

/// By all workers, after each has stored: whether theirs is the last of `count` CTAs to come to `counter`, which is 0
/// then. The last one sees what all have stored.
template <int head_dim>
__device__ bool is_last(SharedMemory<head_dim>& shared, const Worker& worker, std::uint32_t& counter, int count) {
  __threadfence();
  meet_workers();
  if (worker.thread == 0) {
    shared.is_last = atomicInc(&counter, static_cast<unsigned>(count) - 1) == static_cast<unsigned>(count) - 1;
    __threadfence();
  }
  meet_workers();
  return shared.is_last;
}

/// Calls visit(row, column) for each quad of an item's first rows, a thread for each.
template <int head_dim, class Visit>
__device__ void for_each_quad(const Worker& worker, int rows, const Visit& visit) {
  constexpr int quads = head_dim / 4;
  for (int i = worker.thread; i < rows * quads; i += workers) visit(i / quads, i % quads * 4);
}

/// The last CTA of a group of pieces makes one of them, and the last one of an item's groups the result.
template <int head_dim>
__device__ void merge(SharedMemory<head_dim>& shared, const Worker& worker, const Shape& shape, const Item& item,
                      const Pieces<head_dim>& pieces) {
  using Some = typename Pieces<head_dim>::Some;
  std::uint32_t* arrived = shape.arrived + std::int64_t{item.number} * (shape.groups_of_item + 1);
  const int groups = (pieces.count() + pieces_of_group - 1) / pieces_of_group, group = pieces.own() / pieces_of_group;
  const int first = group * pieces_of_group;
  const Some of_group{first, min(pieces_of_group, pieces.count() - first), false};
  if (!is_last(shared, worker, arrived[group], of_group.count)) return;
  const auto store_merged = [&](const Some& some) {
    for_each_quad<head_dim>(worker, item.rows(shape), [&](int row, int column) {
      store(shape, item, head_dim, row, column, pieces.merged(some, row, column).quad);
    });
  };
  if (groups == 1) return store_merged(of_group);
  for_each_quad<head_dim>(worker, item.rows(shape), [&](int row, int column) {
    pieces.store(first, true, row, column, pieces.merged(of_group, row, column));
  });
  if (is_last(shared, worker, arrived[shape.groups_of_item], groups)) store_merged({0, groups, true});
}

/// By a thread for each warp and row: from what the warps told, what the warp's sums count for.
template <int head_dim>
__device__ void find_factor(SharedMemory<head_dim>& shared, float scale, int warp, int row) {
  float most = shared.most[0][row], total = 0;
#pragma unroll
  for (int i = 1; i < warps; ++i) most = fmaxf(most, shared.most[i][row]);
  const float highest = most == -INFINITY ? 0 : most * scale;
#pragma unroll
  for (int i = 0; i < warps; ++i) total += shared.weight[i][row] * exp2f(shared.most[i][row] * scale - highest);
  shared.factor[warp][row] = total > 0 ? exp2f(shared.most[warp][row] * scale - highest) / total : 0;
  if (warp == 0) shared.log_sum[row] = highest + log2f(total);
}

/// Puts together what the warps have of an item, and calls store(row, column, values) for each quad.
template <int head_dim, int blocks, class Store>
__device__ void finish(SharedMemory<head_dim>& shared, const Worker& worker, float scale, int rows,
                       const Attended<head_dim, blocks>& attended, const Store& store) {
  constexpr int told_rows = blocks * queries_of_block;
  attended.tell(shared);
  meet_workers();
  if (worker.thread < warps * told_rows)
    find_factor(shared, scale, worker.thread / told_rows, worker.thread % told_rows);
  meet_workers();
  for (int block = 0; block < blocks; ++block) {
    attended.tell_sums(shared, block);
    meet_workers();
    const int first_row = block * queries_of_block;
    for_each_quad<head_dim>(worker, min(queries_of_block, rows - first_row), [&](int query, int column) {
      float4 sum = {};
      for (int warp = 0; warp < warps; ++warp) {
        const int at = Attended<head_dim, blocks>::swizzled(query, column);
        const float4 one = *reinterpret_cast<const float4*>(&shared.sums[warp][query][at]);
        sum.x += one.x, sum.y += one.y, sum.z += one.z, sum.w += one.w;
      }
      store(first_row + query, column, rounded(sum));
    });
    meet_workers();
  }
}

template <int head_dim, int blocks>
__global__ void __launch_bounds__(threads, 1)
    decode_kernel(const __grid_constant__ Maps maps, const __grid_constant__ Shape shape) {
  extern __shared__ std::byte memory[];
  auto& shared = hopper::aligned<SharedMemory<head_dim>>(memory);
  if (threadIdx.x == workers) {
    for (const CUtensorMap* map : {&maps.rows, &maps.cached, &maps.few_cached}) hopper::prefetch(*map);
    shared.init();
  }
  __syncthreads();
  if (threadIdx.x >= workers) {
    if (threadIdx.x == workers) load_tiles(shared, maps, shape);
    return;
  }
  const Worker worker;
  Ring ring;
  for_each_item(shape.shares, [&](int number, int begin, int end) {
    const Item item(shape, number);
    Attended<head_dim, blocks> attended(shape, item, worker);
    for_each_tile(shape, begin, end, [&](const KeyTile& tile) { attended.add(shared, ring, shape, tile); });
    const auto finish_with = [&](const auto& store) {
      finish(shared, worker, shape.scale, item.rows(shape), attended, store);
    };
    if (end - begin == shape.shares.tiles_of_item)
      return finish_with(
          [&](int row, int column, const Quad& quad) { store(shape, item, head_dim, row, column, quad); });
    const Pieces<head_dim> pieces(shape, item);
    finish_with([&](int row, int column, const Quad& quad) {
      pieces.store(pieces.own(), false, row, column, {quad, shared.log_sum[row]});
    });
    merge(shared, worker, shape, item, pieces);
  });
}

using Kernel = void (*)(Maps, Shape);
struct Variant {
  Kernel kernel;
  int shared_bytes;
};
template <int head_dim>
Variant variant_of(int rows) {
  static_assert(hopper::bytes_to_align<SharedMemory<head_dim>> <= 227 << 10, "what Hopper gives one CTA");
  return {rows <= queries_of_block ? decode_kernel<head_dim, 1> : decode_kernel<head_dim, 2>,
          hopper::bytes_to_align<SharedMemory<head_dim>>};
}
Variant variant_of(int head_dim, int rows) { return head_dim == 64 ? variant_of<64>(rows) : variant_of<128>(rows); }

Maps maps_of(const AttentionOperands& operands) {
  const std::int64_t rows = operands.prefix + operands.sequences * operands.tokens,
                     columns = std::int64_t{operands.heads + 2 * operands.kv_heads} * operands.head_dim;
  const auto cached = [&](int box_rows) {
    const Matrix& keys = operands.cached;
    return tensor_map(keys.data, keys.rows, keys.columns, keys.stride, box_rows, Read::once);
  };
  return {.rows = tensor_map(operands.rows, rows, columns, operands.row_stride, keys_of_warp),
          .cached = cached(tile_keys),
          .few_cached = cached(keys_of_warp)};
}

Shape shape_of(const AttentionOperands& operands, const EvenShares& shares, Arena& arena) {
  const auto* rows = static_cast<const __nv_bfloat16*>(operands.rows);
  const std::int64_t slots = std::int64_t{slots_of_cta} * shares.ctas * most_decode_rows;
  const auto groups = static_cast<int>(divided_up(shares.ctas, pieces_of_group));
  const std::vector<std::uint32_t> none_arrived(static_cast<std::size_t>(shares.items) *
                                                static_cast<std::size_t>(groups + 1));
  return {.shares = shares,
          .prefix = static_cast<int>(operands.prefix),
          .tokens = static_cast<int>(operands.tokens),
          .cached = static_cast<int>(operands.cached.rows / operands.sequences),
          .heads = operands.heads,
          .kv_heads = operands.kv_heads,
          .scale = flash::scale_of(operands.head_dim),
          .queries = rows + operands.prefix * operands.row_stride,
          .query_stride = operands.row_stride,
          .output = static_cast<__nv_bfloat16*>(operands.output.data),
          .output_stride = operands.output.stride,
          .pieces = static_cast<__nv_bfloat16*>(arena.allocate(slots * operands.head_dim * bytes_of(DataType::bf16))),
          .log_sums = static_cast<float*>(arena.allocate(slots * bytes_of(DataType::fp32))),
          .arrived = on_device(none_arrived, arena),
          .groups_of_item = groups};
}

}  // namespace
}  // namespace decoding

OwnDecodeAttention::OwnDecodeAttention(const AttentionOperands& operands, const EvenShares& shares, Arena& arena)
    : shape_(decoding::shape_of(operands, shares, arena)),
      maps_(decoding::maps_of(operands)),
      head_dim_(operands.head_dim),
      rows_of_item_(operands.heads / operands.kv_heads * static_cast<int>(operands.tokens)) {
  const auto [kernel, shared_bytes] = decoding::variant_of(head_dim_, rows_of_item_);
  WEFT_CHECK(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  shared_bytes));
}

void OwnDecodeAttention::enqueue(cudaStream_t stream) const {
  const auto [kernel, shared_bytes] = decoding::variant_of(head_dim_, rows_of_item_);
  kernel<<<static_cast<unsigned>(shape_.shares.ctas), decoding::threads, static_cast<std::size_t>(shared_bytes),
           stream>>>(maps_, shape_);
  WEFT_CHECK(cudaGetLastError());
}

}  // namespace weft::calibration::device
