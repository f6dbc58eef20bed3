#include <algorithm>
#include <cmath>
#include <cstddef>

#include "calibration/device/attention.hpp"
#include "calibration/device/check.hpp"
#include "calibration/device/hopper.cuh"
#include "calibration/device/tensor_map.hpp"

namespace weft::calibration::device {
namespace {

constexpr int tile_queries = 128, tile_keys = 128, rows_of_warpgroup = 64;
constexpr int warpgroup = 128, working_warpgroups = 2, threads = warpgroup * (1 + working_warpgroups);
constexpr int stages = 2;
constexpr int registers_of_loader = 24, registers_of_workers = 240;
constexpr int box_elements = tile_keys * box_columns, box_bytes = box_elements * 2;

template <int head_dim>
struct SharedMemory {
  static constexpr int boxes = head_dim / box_columns;
  alignas(1024) __nv_bfloat16 queries[boxes][box_elements];  // and then the result
  alignas(1024) __nv_bfloat16 keys[stages][boxes][box_elements];
  alignas(1024) __nv_bfloat16 values[stages][boxes][box_elements];
  hopper::Barrier queries_loaded, queries_free;
  hopper::Barrier keys_loaded[stages], keys_free[stages], values_loaded[stages], values_free[stages];
};

struct Shape {
  int prefix, tokens, heads, kv_heads;
  float scale;  ///< of a product of query and key, in powers of 2
  __host__ __device__ int query_tiles() const { return (tokens + tile_queries - 1) / tile_queries; }
  __host__ __device__ int tiles() const { return query_tiles() * heads; }
};

/// One head's queries of one tile, the longest first: the last queries see most keys.
struct Item {
  int head, first_query, key_tiles;
  __device__ Item(const Shape& shape, int number)
      : head(number % shape.heads), first_query((shape.query_tiles() - 1 - number / shape.heads) * tile_queries) {
    const int keys = shape.prefix + min(first_query + tile_queries, shape.tokens);
    key_tiles = (keys + tile_keys - 1) / tile_keys;
  }
};

using Ring = hopper::Ring<stages>;

template <int head_dim>
__device__ void load_boxes(__nv_bfloat16 (&boxes)[head_dim / box_columns][box_elements], const CUtensorMap& rows,
                           int column, int row, hopper::Barrier& loaded) {
  constexpr int count = head_dim / box_columns;
  hopper::arrive_and_expect(loaded, count * box_bytes);
  for (int box = 0; box < count; ++box) hopper::load(boxes[box], rows, column + box * box_columns, row, loaded);
}

/// Keys and values from the last tile to the first: the masked ones come first.
template <int head_dim>
__device__ void load_tiles(SharedMemory<head_dim>& shared, const CUtensorMap& rows, const Shape& shape) {
  Ring ring;
  std::uint32_t parity = 0;
  for (int number = blockIdx.x; number < shape.tiles(); number += gridDim.x, parity ^= 1) {
    const Item item(shape, number);
    const int kv_head = item.head / (shape.heads / shape.kv_heads);
    hopper::wait(shared.queries_free, parity ^ 1);
    load_boxes<head_dim>(shared.queries, rows, item.head * head_dim, shape.prefix + item.first_query,
                         shared.queries_loaded);
    for (int tile = item.key_tiles - 1; tile >= 0; --tile, ring.advance()) {
      const int row = tile * tile_keys;
      hopper::wait(shared.keys_free[ring.slot], ring.parity ^ 1);
      load_boxes<head_dim>(shared.keys[ring.slot], rows, (shape.heads + kv_head) * head_dim, row,
                           shared.keys_loaded[ring.slot]);
      hopper::wait(shared.values_free[ring.slot], ring.parity ^ 1);
      load_boxes<head_dim>(shared.values[ring.slot], rows, (shape.heads + shape.kv_heads + kv_head) * head_dim, row,
                           shared.values_loaded[ring.slot]);
    }
  }
}

/// The two rows of a product that a thread holds parts of: `row` and row + 8 of its warpgroup's.
struct Softmax {
  float most[2] = {-INFINITY, -INFINITY}, sum[2] = {0, 0};

  /// Turns products into weights exp(product - maximum); returns what older sums must be multiplied with.
  __device__ float2 weigh(float (&products)[64], float scale) {
    float factor[2];
#pragma unroll
    for (int row = 0; row < 2; ++row) {
      float highest = most[row];
#pragma unroll
      for (int i = 0; i < 64; i += 4) highest = fmaxf(highest, fmaxf(products[i + 2 * row], products[i + 2 * row + 1]));
      highest = fmaxf(highest, __shfl_xor_sync(0xffffffffU, highest, 1));
      highest = fmaxf(highest, __shfl_xor_sync(0xffffffffU, highest, 2));
      const float subtracted = highest == -INFINITY ? 0 : highest * scale;
      factor[row] = exp2f(most[row] * scale - subtracted);
      most[row] = highest;
      float added = 0;
#pragma unroll
      for (int i = 0; i < 64; i += 4)
#pragma unroll
        for (int j = i + 2 * row; j < i + 2 * row + 2; ++j) {
          products[j] = exp2f(products[j] * scale - subtracted);
          added += products[j];
        }
      sum[row] = sum[row] * factor[row] + added;
    }
    return {factor[0], factor[1]};
  }
  __device__ float2 normalisation() {
    float whole[2];
#pragma unroll
    for (int row = 0; row < 2; ++row) {
      whole[row] = sum[row] + __shfl_xor_sync(0xffffffffU, sum[row], 1);
      whole[row] += __shfl_xor_sync(0xffffffffU, whole[row], 2);
    }
    return {1 / whole[0], 1 / whole[1]};
  }
};

template <int count>
__device__ void scale_rows(float (&sums)[count], float2 factor) {
#pragma unroll
  for (int i = 0; i < count; i += 4) {
    sums[i] *= factor.x, sums[i + 1] *= factor.x;
    sums[i + 2] *= factor.y, sums[i + 3] *= factor.y;
  }
}

/// Keys behind a query are not seen.
__device__ void mask(float (&products)[64], int first_key, int query) {
  const int first_column = static_cast<int>(threadIdx.x) % 4 * 2;
#pragma unroll
  for (int i = 0; i < 64; ++i) {
    const int key = first_key + i / 4 * 8 + first_column + i % 2, seen_by = query + i / 2 % 2 * 8;
    if (key > seen_by) products[i] = -INFINITY;
  }
}

template <int head_dim>
__device__ void issue_products(SharedMemory<head_dim>& shared, int slot, int first_row, float (&products)[64]) {
  hopper::begin_mma();
#pragma unroll
  for (int box = 0; box < head_dim / box_columns; ++box) {
    std::uint64_t a = hopper::matrix_descriptor(shared.queries[box] + first_row * box_columns);
    std::uint64_t b = hopper::matrix_descriptor(shared.keys[slot][box]);
#pragma unroll
    for (int part = 0; part < box_columns / hopper::mma_k; ++part, a += hopper::next_k, b += hopper::next_k)
      hopper::multiply(products, a, b, box + part);
  }
  hopper::end_group_of_mma();
}

template <int head_dim>
__device__ void issue_weighted_sums(SharedMemory<head_dim>& shared, int slot, const std::uint32_t (&weights)[32],
                                    float (&sums)[head_dim / 2]) {
  hopper::begin_mma();
  std::uint64_t b = hopper::transposed_descriptor(shared.values[slot][0], box_bytes);
#pragma unroll
  for (int part = 0; part < tile_keys / hopper::mma_k; ++part, b += hopper::mma_k * 128 >> 4) {
    const std::uint32_t a[4] = {weights[part * 4], weights[part * 4 + 1], weights[part * 4 + 2], weights[part * 4 + 3]};
    hopper::multiply_rows(sums, a, b);
  }
  hopper::end_group_of_mma();
}

__device__ void pack(const float (&products)[64], std::uint32_t (&weights)[32]) {
#pragma unroll
  for (int i = 0; i < 32; ++i) weights[i] = hopper::packed(products[2 * i], products[2 * i + 1]);
}

template <int head_dim>
__device__ void store_result(SharedMemory<head_dim>& shared, const CUtensorMap& output, const Item& item, int group,
                             const float (&sums)[head_dim / 2]) {
  const int thread = static_cast<int>(threadIdx.x) % warpgroup, lane = thread % 32;
  const int first_row = group * rows_of_warpgroup, row = first_row + thread / 32 * 16 + lane % 16;
#pragma unroll
  for (int columns = 0; columns < head_dim; columns += 16) {
    const int i = columns / 2, chunk = columns / 8 % 8 + lane / 16;
    const std::uint32_t values[4] = {hopper::packed(sums[i], sums[i + 1]), hopper::packed(sums[i + 2], sums[i + 3]),
                                     hopper::packed(sums[i + 4], sums[i + 5]),
                                     hopper::packed(sums[i + 6], sums[i + 7])};
    auto* box = reinterpret_cast<std::byte*>(shared.queries[columns / box_columns]);
    hopper::store_matrices(box + row * 128 + (chunk ^ row % 8) * 16, values);
  }
  hopper::order_with_copies();
  hopper::meet_warpgroup(1 + group);
  if (thread != 0) return;
  for (int box = 0; box < head_dim / box_columns; ++box)
    hopper::store(shared.queries[box] + first_row * box_columns, output, item.head * head_dim + box * box_columns,
                  item.first_query + first_row);
  hopper::end_group_of_stores();
  hopper::wait_until_read<0>();
  hopper::arrive(shared.queries_free);
}

template <int head_dim>
__device__ void attend(SharedMemory<head_dim>& shared, const CUtensorMap& output, const Shape& shape) {
  const int group = static_cast<int>(threadIdx.x) / warpgroup - 1, thread = static_cast<int>(threadIdx.x) % warpgroup;
  const int first_row = group * rows_of_warpgroup, row = first_row + thread / 32 * 16 + thread % 32 / 4;
  const auto release = [&](hopper::Barrier& free) {
    if (thread == 0) hopper::arrive(free);
  };
  Ring keys, values;
  std::uint32_t parity = 0;
  for (int number = blockIdx.x; number < shape.tiles(); number += gridDim.x, parity ^= 1) {
    const Item item(shape, number);
    const int query = shape.prefix + item.first_query + row,
              first_of_group = shape.prefix + item.first_query + first_row;
    float sums[head_dim / 2] = {}, products[64];
    std::uint32_t weights[32];
    Softmax softmax;
    const auto mask_tile = [&](int tile) {
      if ((tile + 1) * tile_keys > first_of_group + 1) mask(products, tile * tile_keys, query);
    };
    hopper::wait(shared.queries_loaded, parity);
    hopper::wait(shared.keys_loaded[keys.slot], keys.parity);
    issue_products<head_dim>(shared, keys.slot, first_row, products);
    hopper::wait_for_mma<0>();
    release(shared.keys_free[keys.slot]);
    keys.advance();
    mask_tile(item.key_tiles - 1);
    softmax.weigh(products, shape.scale);
    pack(products, weights);
    for (int tile = item.key_tiles - 2; tile >= 0; --tile) {
      hopper::wait(shared.keys_loaded[keys.slot], keys.parity);
      issue_products<head_dim>(shared, keys.slot, first_row, products);
      hopper::wait(shared.values_loaded[values.slot], values.parity);
      issue_weighted_sums<head_dim>(shared, values.slot, weights, sums);
      hopper::wait_for_mma<1>();
      release(shared.keys_free[keys.slot]);
      keys.advance();
      mask_tile(tile);
      const float2 factor = softmax.weigh(products, shape.scale);
      hopper::wait_for_mma<0>();
      release(shared.values_free[values.slot]);
      values.advance();
      scale_rows(sums, factor);
      pack(products, weights);
    }
    hopper::wait(shared.values_loaded[values.slot], values.parity);
    issue_weighted_sums<head_dim>(shared, values.slot, weights, sums);
    hopper::wait_for_mma<0>();
    release(shared.values_free[values.slot]);
    values.advance();
    scale_rows(sums, softmax.normalisation());
    store_result<head_dim>(shared, output, item, group, sums);
  }
}

template <int head_dim>
__global__ void __launch_bounds__(threads, 1)
    attention_kernel(const __grid_constant__ CUtensorMap rows, const __grid_constant__ CUtensorMap output,
                     const __grid_constant__ Shape shape) {
  extern __shared__ std::byte memory[];
  const std::uint32_t unaligned = hopper::shared_address(memory) % 1024;
  auto& shared = *reinterpret_cast<SharedMemory<head_dim>*>(memory + (1024 - unaligned) % 1024);
  if (threadIdx.x == 0) {
    hopper::prefetch(rows);
    hopper::prefetch(output);
    hopper::init(shared.queries_loaded, 1);
    hopper::init(shared.queries_free, working_warpgroups);
    for (int i = 0; i < stages; ++i) {
      for (hopper::Barrier* loaded : {&shared.keys_loaded[i], &shared.values_loaded[i]}) hopper::init(*loaded, 1);
      for (hopper::Barrier* free : {&shared.keys_free[i], &shared.values_free[i]})
        hopper::init(*free, working_warpgroups);
    }
    hopper::publish_barriers();
  }
  __syncthreads();
  if (threadIdx.x < warpgroup) {
    hopper::give_registers_back<registers_of_loader>();
    if (threadIdx.x == 0) load_tiles<head_dim>(shared, rows, shape);
  } else {
    hopper::take_registers<registers_of_workers>();
    attend<head_dim>(shared, output, shape);
  }
}

using Kernel = void (*)(CUtensorMap, CUtensorMap, Shape);
struct Variant {
  Kernel kernel;
  int shared_bytes;
};
Variant variant_of(int head_dim) {
  if (head_dim == 64) return {attention_kernel<64>, static_cast<int>(sizeof(SharedMemory<64>)) + 1024};
  return {attention_kernel<128>, static_cast<int>(sizeof(SharedMemory<128>)) + 1024};
}

Shape shape_of(const AttentionOperands& operands) {
  constexpr double log2_e = 1.4426950408889634;
  return {static_cast<int>(operands.prefix), static_cast<int>(operands.tokens), operands.heads, operands.kv_heads,
          static_cast<float>(log2_e / std::sqrt(static_cast<double>(operands.head_dim)))};
}

}  // namespace

OwnAttention::OwnAttention(const AttentionOperands& operands, int max_sms)
    : operands_(operands),
      rows_(tensor_map(operands.rows, operands.prefix + operands.tokens,
                       std::int64_t{operands.heads + 2 * operands.kv_heads} * operands.head_dim, operands.row_stride,
                       tile_keys)),
      output_(tensor_map(operands.output, operands.tokens, std::int64_t{operands.heads} * operands.head_dim,
                         operands.output_stride, rows_of_warpgroup)),
      ctas_(max_sms > 0 ? std::min(max_sms, shape_of(operands).tiles()) : shape_of(operands).tiles()) {
  const Variant variant = variant_of(operands.head_dim);
  WEFT_CHECK(cudaFuncSetAttribute(reinterpret_cast<const void*>(variant.kernel),
                                  cudaFuncAttributeMaxDynamicSharedMemorySize, variant.shared_bytes));
}

void OwnAttention::enqueue(cudaStream_t stream) const {
  const Variant variant = variant_of(operands_.head_dim);
  variant.kernel<<<ctas_, threads, static_cast<std::size_t>(variant.shared_bytes), stream>>>(rows_, output_,
                                                                                             shape_of(operands_));
  WEFT_CHECK(cudaGetLastError());
}

}  // namespace weft::calibration::device
