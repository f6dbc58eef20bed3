// What a warp of our decode attention computes: 16 keys of a tile by 8 or 16 queries, with the running maximum and sum
// of the flash algorithm (flash_tiles.cuh), in its registers alone.
#pragma once

#include "calibration/device/decode_items.cuh"

namespace weft::calibration::device {
namespace decoding {

/// The queries of an item as the tensor cores want them, and what a warp has of their results: sums of the values of
/// the keys that it had, by weight.
template <int head_dim, int blocks>
class Attended {
 public:
  __device__ Attended(const Shape& shape, const Item& item, const Worker& worker) : worker_(worker) {
    const int rows = item.rows(shape);
#pragma unroll
    for (int block = 0; block < blocks; ++block) {
      const int row = block * queries_of_block + worker.lane / 4;
      const auto* query = shape.queries + item.token(shape, row) * shape.query_stride + item.head(row) * head_dim;
#pragma unroll
      for (int i = 0; i < head_dim / 8; ++i)
        queries_[block][i] =
            row < rows ? *reinterpret_cast<const std::uint32_t*>(query + i * 8 + worker.lane % 4 * 2) : 0;
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        most_[block][i] = -INFINITY;
        last_own_[block][i] = shape.prefix + (block * queries_of_block + worker.query + i) / item.sharing;
      }
    }
  }

  /// A tile of keys, once it has come, and of their values.
  __device__ void add(SharedMemory<head_dim>& shared, Ring& ring, const Shape& shape, const KeyTile& tile) {
    const bool has_keys = worker_.warp * keys_of_warp < tile.keys;
    float products[blocks][4] = {};
    std::uint32_t weights[blocks][2];
    hopper::wait(shared.keys_loaded[ring.slot], ring.parity);
    if (has_keys) multiply(shared.keys[ring.slot], products);
    worker_.release(shared.keys_free[ring.slot]);
    if (has_keys) {
      mask(shape, tile, products);
      weigh(shape.scale, products, weights);
    }
    hopper::wait(shared.values_loaded[ring.slot], ring.parity);
    if (has_keys) add_values(shared.values[ring.slot], weights);
    worker_.release(shared.values_free[ring.slot]);
    ring.advance();
  }

  /// Tells the other warps how much each query has.
  __device__ void tell(SharedMemory<head_dim>& shared) const {
#pragma unroll
    for (int block = 0; block < blocks; ++block)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        float weight = weight_[block][i];
        for (int lanes = 4; lanes < 32; lanes *= 2) weight += __shfl_xor_sync(0xffffffffU, weight, lanes);
        const int row = block * queries_of_block + worker_.query + i;
        if (worker_.lane >= 4) continue;
        shared.most[worker_.warp][row] = most_[block][i];
        shared.weight[worker_.warp][row] = weight;
      }
  }

  /// This warp's sums of a block of queries, each times its factor.
  __device__ void tell_sums(SharedMemory<head_dim>& shared, int block) const {
#pragma unroll
    for (int b = 0; b < blocks; ++b) {
      if (b != block) continue;
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const float factor = shared.factor[worker_.warp][b * queries_of_block + worker_.query + i];
        float* sums = shared.sums[worker_.warp][worker_.query + i];
#pragma unroll
        for (int d = 0; d < head_dim / 16; ++d) {
          sums[swizzled(worker_.query, d * 16 + worker_.key)] = sums_[b][d][i] * factor;
          sums[swizzled(worker_.query, d * 16 + worker_.key + 8)] = sums_[b][d][i + 2] * factor;
        }
      }
    }
  }
  /// Where column `column` of a query's sums lies, so that the threads of a warp do not meet in a bank.
  static __device__ int swizzled(int query, int column) { return column ^ query / 2 * 8; }

 private:
  __device__ void multiply(const __nv_bfloat16 (*keys)[box_elements], float (&products)[blocks][4]) const {
    const int lane = worker_.lane, row = worker_.warp * keys_of_warp + lane % 16;
#pragma unroll
    for (int i = 0; i < head_dim / 16; ++i) {
      std::uint32_t a[4];
      hopper::load_matrices(a, place_of(keys, row, i * 2 + lane / 16));
#pragma unroll
      for (int block = 0; block < blocks; ++block)
        hopper::multiply_by_warp(products[block], a, queries_[block][2 * i], queries_[block][2 * i + 1]);
    }
  }

  __device__ void mask(const Shape& shape, const KeyTile& tile, float (&products)[blocks][4]) const {
    if (tile.keys == tile_keys) return;
    const int first_key = tile.first_key + worker_.warp * keys_of_warp + worker_.key;
#pragma unroll
    for (int block = 0; block < blocks; ++block)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int last = tile.is_own ? last_own_[block][i % 2] : shape.cached - 1;
        if (first_key + i / 2 * 8 > last) products[block][i] = -INFINITY;
      }
  }

  /// Turns products into weights exp(product - maximum), as the tensor cores want them, and what is there already into
  /// what it is by the new maximum.
  __device__ void weigh(float scale, float (&products)[blocks][4], std::uint32_t (&weights)[blocks][2]) {
#pragma unroll
    for (int block = 0; block < blocks; ++block) {
      float(&product)[4] = products[block];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        float highest = fmaxf(most_[block][i], fmaxf(product[i], product[i + 2]));
        for (int lanes = 4; lanes < 32; lanes *= 2)
          highest = fmaxf(highest, __shfl_xor_sync(0xffffffffU, highest, lanes));
        const float subtracted = highest == -INFINITY ? 0 : highest * scale;
        const float factor = exp2f(most_[block][i] * scale - subtracted);
        most_[block][i] = highest;
        product[i] = exp2f(product[i] * scale - subtracted);
        product[i + 2] = exp2f(product[i + 2] * scale - subtracted);
        weight_[block][i] = weight_[block][i] * factor + product[i] + product[i + 2];
#pragma unroll
        for (int d = 0; d < head_dim / 16; ++d) sums_[block][d][i] *= factor, sums_[block][d][i + 2] *= factor;
      }
      weights[block][0] = hopper::transposed(hopper::packed(product[0], product[1]));
      weights[block][1] = hopper::transposed(hopper::packed(product[2], product[3]));
    }
  }

  __device__ void add_values(const __nv_bfloat16 (*values)[box_elements], const std::uint32_t (&weights)[blocks][2]) {
    const int lane = worker_.lane, row = worker_.warp * keys_of_warp + lane / 16 * 8 + lane % 8;
#pragma unroll
    for (int d = 0; d < head_dim / 16; ++d) {
      std::uint32_t a[4];
      hopper::load_transposed(a, place_of(values, row, d * 2 + lane / 8 % 2));
#pragma unroll
      for (int block = 0; block < blocks; ++block)
        hopper::multiply_by_warp(sums_[block][d], a, weights[block][0], weights[block][1]);
    }
  }

  const Worker& worker_;
  std::uint32_t queries_[blocks][head_dim / 8];
  float sums_[blocks][head_dim / 16][4] = {};  // a row for each column of the values, a column for each query
  float most_[blocks][2], weight_[blocks][2] = {};
  int last_own_[blocks][2];  // key of its sequence's rows that a query sees
};

}  // namespace decoding
}  // namespace weft::calibration::device
