// What a CTA of our decode attention works on: a few queries that see the same keys, and tiles of these.
#pragma once

#include "calibration/device/decode_attention.hpp"
#include "calibration/device/flash_tiles.cuh"

namespace weft::calibration::device {
namespace decoding {

using Shape = OwnDecodeAttention::Shape;
using Maps = OwnDecodeAttention::Maps;

inline constexpr int tile_keys = flash::tile_keys, box_elements = flash::box_elements;
inline constexpr int keys_of_warp = keys_of_box, queries_of_block = queries_of_mma;
inline constexpr int warps = tile_keys / keys_of_warp, workers = 32 * warps, threads = workers + 32;
inline constexpr int stages = 3;

static_assert(tile_keys == own_tile_keys && most_decode_rows == 2 * queries_of_block);
static_assert(most_own_keys <= keys_of_warp, "the first warp takes them");

template <int head_dim>
struct SharedMemory {
  static constexpr int boxes = head_dim / box_columns;
  alignas(1024) __nv_bfloat16 keys[stages][boxes][box_elements];
  alignas(1024) __nv_bfloat16 values[stages][boxes][box_elements];
  float sums[warps][queries_of_block][head_dim];
  float most[warps][most_decode_rows], weight[warps][most_decode_rows];
  float factor[warps][most_decode_rows], log_sum[most_decode_rows];  // what a warp's sums count for; of all warps
  hopper::Barrier keys_loaded[stages], keys_free[stages], values_loaded[stages], values_free[stages];
  bool is_last;

  __device__ void init() {
    for (int i = 0; i < stages; ++i) {
      for (hopper::Barrier* loaded : {&keys_loaded[i], &values_loaded[i]}) hopper::init(*loaded, 1);
      for (hopper::Barrier* free : {&keys_free[i], &values_free[i]}) hopper::init(*free, warps);
    }
    hopper::publish_barriers();
  }
};
using Ring = hopper::Ring<stages>;

/// The queries of a sequence's tokens and of the heads that share keys, a row for each head of each token. Cached keys
/// come before its own.
struct Item {
  int number, sequence, kv_head, sharing;

  __device__ Item(const Shape& shape, int item)
      : number(item),
        sequence(item / shape.kv_heads),
        kv_head(item % shape.kv_heads),
        sharing(shape.heads / shape.kv_heads) {}
  __device__ int rows(const Shape& shape) const { return sharing * shape.tokens; }
  __device__ std::int64_t token(const Shape& shape, int row) const {
    return static_cast<std::int64_t>(sequence) * shape.tokens + row / sharing;
  }
  __device__ int head(int row) const { return kv_head * sharing + row % sharing; }
};

/// A tile of an item's cached keys, the last of which may have fewer than others, or the few of its sequence's own
/// rows.
struct KeyTile {
  bool is_own;
  int first_key, keys;
  __device__ KeyTile(const Shape& shape, int tile)
      : is_own(tile < 0),
        first_key(is_own ? 0 : tile * tile_keys),
        keys(is_own ? shape.prefix + shape.tokens : min(tile_keys, shape.cached - first_key)) {}
};

/// Calls visit(tile) for what a CTA has of an item. Own keys come with the first tile, before it: they are in the L2,
/// and cached ones are not.
template <class Visit>
__device__ void for_each_tile(const Shape& shape, int begin, int end, const Visit& visit) {
  constexpr int own = -1;
#pragma unroll 1  // what is in the code once, an SM is sooner to have of it
  for (int tile = begin == 0 ? own : begin; tile < end; ++tile) visit(KeyTile(shape, tile));
}

/// Calls visit(item, first of its tiles, end of them) for what a CTA has of one item after the other.
template <class Visit>
__device__ void for_each_item(const EvenShares& shares, const Visit& visit) {
  const int cta = static_cast<int>(blockIdx.x), end = shares.begin(cta + 1);
  int tile = shares.begin(cta), item = tile / shares.tiles_of_item;
  for (int first = item * shares.tiles_of_item; tile < end; ++item, first += shares.tiles_of_item) {
    const int next = min(first + shares.tiles_of_item, end);
    visit(item, tile - first, next - first);
    tile = next;
  }
}

/// A thread's place among the warps that work. Of a product's 16 keys it has `key` and key + 8, of 8 queries those of
/// `query` and query + 1.
struct Worker {
  int thread, warp, lane, key, query;
  __device__ Worker()
      : thread(static_cast<int>(threadIdx.x)),
        warp(thread / 32),
        lane(thread % 32),
        key(lane / 4),
        query(lane % 4 * 2) {}
  __device__ void release(hopper::Barrier& free) const {
    if (lane == 0) hopper::arrive(free);
  }
};
inline constexpr int barrier_of_workers = 1;
__device__ inline void meet_workers() { hopper::meet<workers>(barrier_of_workers); }

/// The 16 bytes of columns 8 x chunk and on of a row of keys or values.
__device__ inline const std::byte* place_of(const __nv_bfloat16 (*boxes)[box_elements], int row, int chunk) {
  constexpr int chunks_of_box = box_columns / 8;
  const auto* box = reinterpret_cast<const std::byte*>(boxes[chunk / chunks_of_box]);
  return box + row * 128 + (chunk % chunks_of_box ^ row % 8) * 16;
}

}  // namespace decoding
}  // namespace weft::calibration::device
