// The flash algorithm (Dao 2023: tiles of keys with a running maximum and sum) on Hopper's tensor cores that read
// shared memory, in the order of FlashAttention-3 (Shah et al. 2024): the product with the next keys is issued before
// the softmax of the ones before has been multiplied with their values. A CTA has a thread that loads and two
// warpgroups that work, each on its half of a tile of queries.
#pragma once

#include <cmath>
#include <cstddef>

#include "calibration/device/hopper.cuh"
#include "calibration/device/tensor_map.hpp"

namespace weft::calibration::device {
namespace flash {

inline constexpr int tile_queries = 128, tile_keys = 128, rows_of_warpgroup = 64;
inline constexpr int warpgroup = 128, working_warpgroups = 2, threads = warpgroup * (1 + working_warpgroups);
inline constexpr int stages = 2;
inline constexpr int registers_of_loader = 40, registers_of_workers = 232;  // the loader keeps where it is
inline constexpr int box_elements = tile_keys * box_columns, box_bytes = box_elements * 2;

template <int head_dim>
struct SharedMemory {
  static constexpr int boxes = head_dim / box_columns;
  alignas(1024) __nv_bfloat16 queries[boxes][box_elements];  // and then the result
  alignas(1024) __nv_bfloat16 keys[stages][boxes][box_elements];
  alignas(1024) __nv_bfloat16 values[stages][boxes][box_elements];
  hopper::Barrier queries_loaded, queries_free;
  hopper::Barrier keys_loaded[stages], keys_free[stages], values_loaded[stages], values_free[stages];
};

/// By one thread, before the CTA meets.
template <int head_dim>
__device__ void init_barriers(SharedMemory<head_dim>& shared) {
  hopper::init(shared.queries_loaded, 1);
  hopper::init(shared.queries_free, working_warpgroups);
  for (int i = 0; i < stages; ++i) {
    for (hopper::Barrier* loaded : {&shared.keys_loaded[i], &shared.values_loaded[i]}) hopper::init(*loaded, 1);
    for (hopper::Barrier* free : {&shared.keys_free[i], &shared.values_free[i]})
      hopper::init(*free, working_warpgroups);
  }
  hopper::publish_barriers();
}

using Ring = hopper::Ring<stages>;

template <int head_dim>
__device__ void load_boxes(__nv_bfloat16 (&boxes)[head_dim / box_columns][box_elements], const CUtensorMap& rows,
                           int column, int row, hopper::Barrier& loaded) {
  constexpr int count = head_dim / box_columns;
  hopper::arrive_and_expect(loaded, count * box_bytes);
  for (int box = 0; box < count; ++box) hopper::load(boxes[box], rows, column + box * box_columns, row, loaded);
}

/// A tile of keys from row `row` on and the values that belong to them, once there is room.
template <int head_dim, class Memory, int slots>
__device__ void load_tile(Memory& shared, hopper::Ring<slots>& ring, const CUtensorMap& rows, int key_column,
                          int value_column, int row) {
  hopper::wait(shared.keys_free[ring.slot], ring.parity ^ 1);
  load_boxes<head_dim>(shared.keys[ring.slot], rows, key_column, row, shared.keys_loaded[ring.slot]);
  hopper::wait(shared.values_free[ring.slot], ring.parity ^ 1);
  load_boxes<head_dim>(shared.values[ring.slot], rows, value_column, row, shared.values_loaded[ring.slot]);
  ring.advance();
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
  /// Of the weights of all keys so far.
  __device__ float2 whole_sums() const {
    float whole[2];
#pragma unroll
    for (int row = 0; row < 2; ++row) {
      whole[row] = sum[row] + __shfl_xor_sync(0xffffffffU, sum[row], 1);
      whole[row] += __shfl_xor_sync(0xffffffffU, whole[row], 2);
    }
    return {whole[0], whole[1]};
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

/// Keys behind the last one that a row sees are not seen: `last_seen` by the thread's first row and by its second.
__device__ inline void mask(float (&products)[64], int first_key, int2 last_seen) {
  const int first_column = static_cast<int>(threadIdx.x) % 4 * 2;
#pragma unroll
  for (int i = 0; i < 64; ++i) {
    const int key = first_key + i / 4 * 8 + first_column + i % 2;
    if (key > (i / 2 % 2 == 0 ? last_seen.x : last_seen.y)) products[i] = -INFINITY;
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

__device__ inline void pack(const float (&products)[64], std::uint32_t (&weights)[32]) {
#pragma unroll
  for (int i = 0; i < 32; ++i) weights[i] = hopper::packed(products[2 * i], products[2 * i + 1]);
}

/// Who works: a warpgroup, and of its rows of the queries a thread's first one (it has parts of row + 8 too).
struct Worker {
  int thread, group, first_row, row;
  __device__ Worker()
      : thread(static_cast<int>(threadIdx.x) % warpgroup),
        group(static_cast<int>(threadIdx.x) / warpgroup - 1),
        first_row(group * rows_of_warpgroup),
        row(first_row + thread / 32 * 16 + thread % 32 / 4) {}
  __device__ void release(hopper::Barrier& free) const {
    if (thread == 0) hopper::arrive(free);
  }
};

struct Rings {
  Ring keys, values;
};

/// Multiplies the queries with `tiles` >= 1 tiles of keys as they come, and adds up the values by their weights:
/// `mask_next` is called with the products of each tile in turn. The sums are not divided by those of the weights.
template <int head_dim, class MaskNext>
__device__ __forceinline__ void sum_values(SharedMemory<head_dim>& shared, const Worker& worker, Rings& rings,
                                           int tiles, float scale, const MaskNext& mask_next, Softmax& softmax,
                                           float (&sums)[head_dim / 2]) {
  auto& [keys, values] = rings;
  float products[64];
  std::uint32_t weights[32];
  hopper::wait(shared.keys_loaded[keys.slot], keys.parity);
  issue_products<head_dim>(shared, keys.slot, worker.first_row, products);
  hopper::wait_for_mma<0>();
  worker.release(shared.keys_free[keys.slot]);
  keys.advance();
  mask_next(products);
  softmax.weigh(products, scale);
  pack(products, weights);
  for (int left = tiles - 1; left > 0; --left) {
    hopper::wait(shared.keys_loaded[keys.slot], keys.parity);
    issue_products<head_dim>(shared, keys.slot, worker.first_row, products);
    hopper::wait(shared.values_loaded[values.slot], values.parity);
    issue_weighted_sums<head_dim>(shared, values.slot, weights, sums);
    hopper::wait_for_mma<1>();
    worker.release(shared.keys_free[keys.slot]);
    keys.advance();
    mask_next(products);
    const float2 factor = softmax.weigh(products, scale);
    hopper::wait_for_mma<0>();
    worker.release(shared.values_free[values.slot]);
    values.advance();
    scale_rows(sums, factor);
    pack(products, weights);
  }
  hopper::wait(shared.values_loaded[values.slot], values.parity);
  issue_weighted_sums<head_dim>(shared, values.slot, weights, sums);
  hopper::wait_for_mma<0>();
  worker.release(shared.values_free[values.slot]);
  values.advance();
}

/// Calls store(0 or 1, logarithm of the sum) for the two rows of a worker, by one of the four threads that share
/// them. `whole`: sums of weights, which are powers of 2 of what is below the maximum.
template <class Store>
__device__ void store_log_sums(const Worker& worker, const Softmax& softmax, float2 whole, float scale,
                               const Store& store) {
  constexpr float log_2 = 0.69314718F;
  if (worker.thread % 4 != 0) return;
#pragma unroll
  for (int i = 0; i < 2; ++i) store(i, (softmax.most[i] * scale + log2f(i == 0 ? whole.x : whole.y)) * log_2);
}

/// Where the 16 bytes of columns 8 x chunk and on of a row of the result are staged.
template <int head_dim>
__device__ std::byte* staged(SharedMemory<head_dim>& shared, int row, int chunk) {
  constexpr int chunks_of_box = box_columns / 8;
  auto* box = reinterpret_cast<std::byte*>(shared.queries[chunk / chunks_of_box]);
  return box + row * 128 + (chunk % chunks_of_box ^ row % 8) * 16;
}

/// The result of a warpgroup, in bf16, in place of its queries; all of its threads see it afterwards, and the memory
/// accelerator does.
template <int head_dim>
__device__ void stage_result(SharedMemory<head_dim>& shared, const Worker& worker, const float (&sums)[head_dim / 2]) {
  const int lane = worker.thread % 32, row = worker.first_row + worker.thread / 32 * 16 + lane % 16;
#pragma unroll
  for (int columns = 0; columns < head_dim; columns += 16) {
    const int i = columns / 2;
    const std::uint32_t values[4] = {hopper::packed(sums[i], sums[i + 1]), hopper::packed(sums[i + 2], sums[i + 3]),
                                     hopper::packed(sums[i + 4], sums[i + 5]),
                                     hopper::packed(sums[i + 6], sums[i + 7])};
    hopper::store_matrices(staged(shared, row, columns / 8 + lane / 16), values);
  }
  hopper::order_with_copies();
  hopper::meet_warpgroup(1 + worker.group);
}

/// By one thread of a warpgroup: its staged result to row `row` of the output, from `column` on.
template <int head_dim>
__device__ void store_staged(SharedMemory<head_dim>& shared, const Worker& worker, const CUtensorMap& output,
                             int column, int row) {
  for (int box = 0; box < head_dim / box_columns; ++box)
    hopper::store(shared.queries[box] + worker.first_row * box_columns, output, column + box * box_columns, row);
  hopper::end_group_of_stores();
  hopper::wait_until_read<0>();
  hopper::arrive(shared.queries_free);
}

/// A product of query and key is weighed by its power of 2.
inline float scale_of(int head_dim) {
  constexpr double log2_e = 1.4426950408889634;
  return static_cast<float>(log2_e / std::sqrt(static_cast<double>(head_dim)));
}

}  // namespace flash
}  // namespace weft::calibration::device
