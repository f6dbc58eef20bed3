// Where the pieces of an item lie that several CTAs of our decode attention have, and how they are merged.
#pragma once

#include "calibration/device/decode_items.cuh"

namespace weft::calibration::device {
namespace decoding {

/// Four neighbouring columns of a row of results, in bf16.
struct alignas(8) Quad {
  __nv_bfloat162 pair[2];
};
__device__ inline Quad rounded(const float4& values) {
  return {{__floats2bfloat162_rn(values.x, values.y), __floats2bfloat162_rn(values.z, values.w)}};
}

/// A result, and the logarithm, to the base of 2, of the sum of its weights; over no key where nothing is said.
struct WeighedQuad {
  Quad quad = {};
  float log_sum = -INFINITY;
};
inline constexpr int in_flight = 16;  // of results, that a thread asks for before the first has come

class MergedQuad {
 public:
  __device__ void add(const WeighedQuad (&results)[in_flight]) {
    float highest = highest_;
#pragma unroll
    for (const WeighedQuad& one : results) highest = fmaxf(highest, one.log_sum);
    if (highest == -INFINITY) return;
    const float older = exp2f(highest_ - highest);
    sum_.x *= older, sum_.y *= older, sum_.z *= older, sum_.w *= older;
    total_ *= older;
#pragma unroll
    for (const WeighedQuad& one : results) {
      const float weight = exp2f(one.log_sum - highest);
      const float2 low = __bfloat1622float2(one.quad.pair[0]), high = __bfloat1622float2(one.quad.pair[1]);
      sum_.x += weight * low.x, sum_.y += weight * low.y;
      sum_.z += weight * high.x, sum_.w += weight * high.y;
      total_ += weight;
    }
    highest_ = highest;
  }
  __device__ WeighedQuad result() const {
    if (total_ == 0) return {};
    const float share = 1 / total_;
    return {rounded({sum_.x * share, sum_.y * share, sum_.z * share, sum_.w * share}), highest_ + log2f(total_)};
  }

 private:
  float4 sum_ = {};
  float highest_ = -INFINITY, total_ = 0;
};

inline constexpr int slots_of_cta = 4;

/// Where the pieces of an item lie until they are merged.
template <int head_dim>
class Pieces {
 public:
  __device__ Pieces(const Shape& shape, const Item& item)
      : shape_(shape),
        first_cta_(shape.shares.first_cta(item.number)),
        count_(shape.shares.pieces(item.number)),
        begins_in_cta_(shape.shares.begin(first_cta_) < item.number * shape.shares.tiles_of_item) {}
  __device__ int count() const { return count_; }
  __device__ int own() const { return static_cast<int>(blockIdx.x) - first_cta_; }

  __device__ void store(int piece, bool is_group, int row, int column, const WeighedQuad& result) const {
    const int at = place(piece, is_group, row);
    *reinterpret_cast<Quad*>(shape_.pieces + at * head_dim + column) = result.quad;
    if (column == 0) shape_.log_sums[at] = result.log_sum;
  }

  /// `count` pieces from `first` on; or groups of them, each of which is at its first piece.
  struct Some {
    int first, count;
    bool are_groups;
  };
  __device__ WeighedQuad merged(const Some& some, int row, int column) const {
    MergedQuad merged;
    for (int begin = 0; begin < some.count; begin += in_flight) {
      WeighedQuad results[in_flight];
#pragma unroll
      for (int i = 0; i < in_flight; ++i)
        if (begin + i < some.count) results[i] = load(some, begin + i, row, column);
      merged.add(results);
    }
    return merged.result();
  }

 private:
  __device__ WeighedQuad load(const Some& some, int number, int row, int column) const {
    const int piece = some.first + (some.are_groups ? number * pieces_of_group : number);
    const int at = place(piece, some.are_groups, row);
    const uint2 bits = __ldcg(reinterpret_cast<const uint2*>(shape_.pieces + at * head_dim + column));
    return {reinterpret_cast<const Quad&>(bits), __ldcg(shape_.log_sums + at)};
  }
  /// A row of a slot. A CTA has two for pieces, the first one for an item that has begun before it or with it, and as
  /// many for groups.
  __device__ int place(int piece, bool is_group, int row) const {
    const bool is_second = piece == 0 && begins_in_cta_;
    return (slots_of_cta * (first_cta_ + piece) + 2 * is_group + is_second) * most_decode_rows + row;
  }

  const Shape& shape_;
  int first_cta_, count_;
  bool begins_in_cta_;  // its first CTA had another item before
};

}  // namespace decoding
}  // namespace weft::calibration::device
