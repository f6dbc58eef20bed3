#include "calibration/device/check.hpp"
#include "calibration/device/decode_pieces.cuh"
#include "calibration/device/decode_warp.cuh"
#include "calibration/device/on_device.hpp"

namespace weft::calibration::device {
namespace decoding {
namespace {

template <int head_dim>
__device__ void load_tiles(SharedMemory<head_dim>& shared, const CUtensorMap& rows, const CUtensorMap& cached,
                           const Shape& shape) {
  Ring ring;
  for_each_item(shape.shares, [&](std::int64_t number, int begin, int end) {
    const Item item(shape, number);
    const int behind = shape.heads * head_dim, key = item.kv_head * head_dim,
              value = (shape.kv_heads + item.kv_head) * head_dim;
    for (int i = begin; i < end; ++i) {
      const KeyTile tile(shape, i);
      if (tile.is_own)
        flash::load_tile<head_dim>(shared, ring, rows, behind + key, behind + value,
                                   item.sequence * shape.tokens + tile.first_key);
      else
        flash::load_tile<head_dim>(shared, ring, cached, key, value, item.sequence * shape.cached + tile.first_key);
    }
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
  std::uint32_t* arrived = shape.arrived + item.number * (shape.groups_of_item + 1);
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

/// Puts together what the warps have of an item, and calls store(row, column, values, logarithm_of) for each quad,
/// where logarithm_of(row) is that of the sum of its weights.
template <int head_dim, int blocks, class Store>
__device__ void finish(SharedMemory<head_dim>& shared, const Worker& worker, float scale, int rows,
                       const Attended<head_dim, blocks>& attended, const Store& store) {
  attended.tell(shared);
  meet_workers();
  const auto highest_of = [&](int row) {
    float highest = shared.most[0][row];
    for (int warp = 1; warp < warps; ++warp) highest = fmaxf(highest, shared.most[warp][row]);
    return highest == -INFINITY ? 0 : highest * scale;
  };
  const auto total_of = [&](int row, float highest) {
    float total = 0;
    for (int warp = 0; warp < warps; ++warp)
      total += shared.weight[warp][row] * exp2f(shared.most[warp][row] * scale - highest);
    return total;
  };
  const auto logarithm_of = [&](int row) {
    const float highest = highest_of(row);
    return highest + log2f(total_of(row, highest));
  };
  for (int block = 0; block < blocks; ++block) {
    attended.tell_sums(shared, block, [&](int row, float most) {
      const float highest = highest_of(row), total = total_of(row, highest);
      return total > 0 ? exp2f(most * scale - highest) / total : 0;
    });
    meet_workers();
    const int first_row = block * queries_of_block;
    for_each_quad<head_dim>(worker, min(queries_of_block, rows - first_row), [&](int query, int column) {
      float4 sum = {};
      for (int warp = 0; warp < warps; ++warp) {
        const int at = Attended<head_dim, blocks>::swizzled(query, column);
        const float4 one = *reinterpret_cast<const float4*>(&shared.sums[warp][query][at]);
        sum.x += one.x, sum.y += one.y, sum.z += one.z, sum.w += one.w;
      }
      store(first_row + query, column, rounded(sum), logarithm_of);
    });
    meet_workers();
  }
}

template <int head_dim, int blocks>
__global__ void __launch_bounds__(threads, 1)
    decode_kernel(const __grid_constant__ CUtensorMap rows, const __grid_constant__ CUtensorMap cached,
                  const __grid_constant__ Shape shape) {
  extern __shared__ std::byte memory[];
  auto& shared = hopper::aligned<SharedMemory<head_dim>>(memory);
  if (threadIdx.x == workers) {
    for (const CUtensorMap* map : {&rows, &cached}) hopper::prefetch(*map);
    shared.init();
  }
  __syncthreads();
  if (threadIdx.x >= workers) {
    if (threadIdx.x == workers) load_tiles<head_dim>(shared, rows, cached, shape);
    return;
  }
  const Worker worker;
  Ring ring;
  for_each_item(shape.shares, [&](std::int64_t number, int begin, int end) {
    const Item item(shape, number);
    Attended<head_dim, blocks> attended(shape, item, worker);
    for (int tile = begin; tile < end; ++tile) attended.add(shared, ring, shape, KeyTile(shape, tile));
    const auto finish_with = [&](const auto& store) {
      finish<head_dim, blocks>(shared, worker, shape.scale, item.rows(shape), attended, store);
    };
    if (end - begin == shape.shares.tiles_of_item)
      return finish_with(
          [&](int row, int column, const Quad& quad, const auto&) { store(shape, item, head_dim, row, column, quad); });
    const Pieces<head_dim> pieces(shape, item);
    finish_with([&](int row, int column, const Quad& quad, const auto& logarithm_of) {
      pieces.store(pieces.own(), false, row, column, {quad, column == 0 ? logarithm_of(row) : 0});
    });
    merge<head_dim>(shared, worker, shape, item, pieces);
  });
}

using Kernel = void (*)(CUtensorMap, CUtensorMap, Shape);
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

Shape shape_of(const AttentionOperands& operands, const EvenShares& shares, Arena& arena) {
  const auto* rows = static_cast<const __nv_bfloat16*>(operands.rows);
  const std::int64_t slots = slots_of_cta * shares.ctas * most_decode_rows;
  const auto groups = static_cast<int>(divided_up(shares.ctas, pieces_of_group));
  const std::vector<std::uint32_t> none_arrived(static_cast<std::size_t>(shares.items * (groups + 1)));
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
      rows_(tensor_map(operands.rows, operands.prefix + operands.sequences * operands.tokens,
                       std::int64_t{operands.heads + 2 * operands.kv_heads} * operands.head_dim, operands.row_stride,
                       flash::tile_keys)),
      cached_(tensor_map(operands.cached.data, operands.cached.rows, operands.cached.columns, operands.cached.stride,
                         flash::tile_keys, Read::once)),
      head_dim_(operands.head_dim),
      rows_of_item_(operands.heads / operands.kv_heads * static_cast<int>(operands.tokens)) {
  const auto [kernel, shared_bytes] = decoding::variant_of(head_dim_, rows_of_item_);
  WEFT_CHECK(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  shared_bytes));
}

void OwnDecodeAttention::enqueue(cudaStream_t stream) const {
  const auto [kernel, shared_bytes] = decoding::variant_of(head_dim_, rows_of_item_);
  kernel<<<static_cast<unsigned>(shape_.shares.ctas), decoding::threads, static_cast<std::size_t>(shared_bytes),
           stream>>>(rows_, cached_, shape_);
  WEFT_CHECK(cudaGetLastError());
}

}  // namespace weft::calibration::device
