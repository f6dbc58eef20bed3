#include <algorithm>
#include <cstddef>

#include "calibration/device/attention.hpp"
#include "calibration/device/check.hpp"
#include "calibration/device/flash_items.cuh"
#include "calibration/device/on_device.hpp"
#include "calibration/device/tensor_map.hpp"

namespace weft::calibration::device {
namespace {

using flash::Worker;

template <int head_dim>
using SharedMemory = flash::ItemMemory<head_dim>;

struct Shape {
  int prefix, tokens, heads, kv_heads;
  float scale;           ///< of a product of query and key, in powers of 2
  std::uint32_t* taken;  ///< items that CTAs which stay have taken; null: each CTA has the one of its number
  __host__ __device__ int query_tiles() const { return (tokens + flash::tile_queries - 1) / flash::tile_queries; }
  __host__ __device__ int tiles() const { return query_tiles() * heads; }
};

/// One head's queries of one tile, the longest first: the last queries see most keys.
struct Item {
  int head, first_query, key_tiles;
  __device__ Item(const Shape& shape, int number)
      : head(number % shape.heads),
        first_query((shape.query_tiles() - 1 - number / shape.heads) * flash::tile_queries) {
    const int keys = shape.prefix + min(first_query + flash::tile_queries, shape.tokens);
    key_tiles = (keys + flash::tile_keys - 1) / flash::tile_keys;
  }
};

/// Keys and values from the last tile to the first: the masked ones come first.
template <int head_dim>
__device__ void load_item(flash::SharedMemory<head_dim>& shared, const CUtensorMap& rows, const Shape& shape,
                          const Item& item, flash::Ring& ring) {
  const int kv_head = item.head / (shape.heads / shape.kv_heads);
  flash::load_boxes<head_dim>(shared.queries, rows, item.head * head_dim, shape.prefix + item.first_query,
                              shared.queries_loaded);
  for (int tile = item.key_tiles - 1; tile >= 0; --tile)
    flash::load_tile<head_dim>(shared, ring, rows, (shape.heads + kv_head) * head_dim,
                               (shape.heads + shape.kv_heads + kv_head) * head_dim, tile * flash::tile_keys);
}

template <int head_dim>
__device__ void load_items(SharedMemory<head_dim>& shared, const CUtensorMap& rows, const Shape& shape) {
  const auto take = [&](int of_grid) { return shape.taken ? flash::take(shape.taken, shape.tiles()) : of_grid; };
  flash::Ring ring;
  std::uint32_t parity = 0;
  for (int number = take(static_cast<int>(blockIdx.x));; parity ^= 1) {
    shared.item.tell(number, parity);
    if (number >= shape.tiles()) return;
    hopper::wait(shared.tiles.queries_free, parity ^ 1);
    load_item<head_dim>(shared.tiles, rows, shape, Item(shape, number), ring);
    number = take(shape.tiles());
  }
}

template <int head_dim>
__device__ void attend(SharedMemory<head_dim>& shared, const CUtensorMap& output, const Shape& shape) {
  const Worker worker;
  flash::Rings rings;
  for (std::uint32_t parity = 0;; parity ^= 1) {
    const int number = shared.item.hear(parity);
    if (number >= shape.tiles()) return;
    const Item item(shape, number);
    const int query = shape.prefix + item.first_query + worker.row,
              first_of_group = shape.prefix + item.first_query + worker.first_row;
    int tile = item.key_tiles;
    const auto mask_next = [&](float(&products)[64]) {
      --tile;
      if ((tile + 1) * flash::tile_keys > first_of_group + 1)
        flash::mask(products, tile * flash::tile_keys, {query, query + 8});
    };
    float sums[head_dim / 2] = {};
    flash::Softmax softmax;
    hopper::wait(shared.tiles.queries_loaded, parity);
    flash::sum_values<head_dim>(shared.tiles, worker, rings, item.key_tiles, shape.scale, mask_next, softmax, sums);
    const float2 whole = softmax.whole_sums();
    flash::scale_rows(sums, {1 / whole.x, 1 / whole.y});
    flash::stage_result<head_dim>(shared.tiles, worker, sums);
    if (worker.thread == 0)
      flash::store_staged<head_dim>(shared.tiles, worker, output, item.head * head_dim,
                                    item.first_query + worker.first_row);
  }
}

template <int head_dim>
__global__ void __launch_bounds__(flash::threads, 1)
    attention_kernel(const __grid_constant__ CUtensorMap rows, const __grid_constant__ CUtensorMap output,
                     const __grid_constant__ Shape shape) {
  extern __shared__ std::byte memory[];
  auto& shared = hopper::aligned<SharedMemory<head_dim>>(memory);
  if (threadIdx.x == 0) {
    hopper::prefetch(rows);
    hopper::prefetch(output);
    shared.init();
  }
  __syncthreads();
  if (threadIdx.x < flash::warpgroup) {
    hopper::give_registers_back<flash::registers_of_loader>();
    if (threadIdx.x == 0) load_items<head_dim>(shared, rows, shape);
  } else {
    hopper::take_registers<flash::registers_of_workers>();
    attend<head_dim>(shared, output, shape);
  }
}

using Kernel = void (*)(CUtensorMap, CUtensorMap, Shape);
struct Variant {
  Kernel kernel;
  int shared_bytes;
};
Variant variant_of(int head_dim) {
  if (head_dim == 64) return {attention_kernel<64>, hopper::bytes_to_align<SharedMemory<64>>};
  return {attention_kernel<128>, hopper::bytes_to_align<SharedMemory<128>>};
}

Shape shape_of(const AttentionOperands& operands, std::uint32_t* taken) {
  return {static_cast<int>(operands.prefix),
          static_cast<int>(operands.tokens),
          operands.heads,
          operands.kv_heads,
          flash::scale_of(operands.head_dim),
          taken};
}

}  // namespace

OwnAttention::OwnAttention(const AttentionOperands& operands, int max_sms, Arena& arena)
    : operands_(operands),
      rows_(tensor_map(operands.rows, operands.prefix + operands.tokens,
                       std::int64_t{operands.heads + 2 * operands.kv_heads} * operands.head_dim, operands.row_stride,
                       flash::tile_keys)),
      output_(tensor_map(operands.output, operands.tokens, std::int64_t{operands.heads} * operands.head_dim,
                         operands.output_stride, flash::rows_of_warpgroup)),
      taken_(max_sms > 0 ? on_device(std::vector<std::uint32_t>{0}, arena) : nullptr) {
  const int tiles = shape_of(operands, taken_).tiles();
  ctas_ = max_sms > 0 ? std::min(max_sms, tiles) : tiles;
  const Variant variant = variant_of(operands.head_dim);
  WEFT_CHECK(cudaFuncSetAttribute(reinterpret_cast<const void*>(variant.kernel),
                                  cudaFuncAttributeMaxDynamicSharedMemorySize, variant.shared_bytes));
}

void OwnAttention::enqueue(cudaStream_t stream) const {
  const Variant variant = variant_of(operands_.head_dim);
  variant.kernel<<<ctas_, flash::threads, static_cast<std::size_t>(variant.shared_bytes), stream>>>(
      rows_, output_, shape_of(operands_, taken_));
  WEFT_CHECK(cudaGetLastError());
}

}  // namespace weft::calibration::device
