// In which order attention's kernels go through heads and tiles of queries.
#pragma once

#include <algorithm>
#include <cstdint>

#include "models/schedule/buffers.hpp"

namespace weft::calibration::device {

/// Tile by tile over all heads, CTAs would read more keys and values than the L2 holds, once for every few tiles; head
/// by head, some would end with a long tile. So heads go in sets: the tiles of one set, in their order, before those of
/// the next.
struct HeadSets {
  int heads = 1, of_set = 1;

  struct Place {
    int tile = 0, head = 0;
  };
  /// Of item `number` of those that `tiles` tiles of each head make.
  constexpr Place at(int number, int tiles) const {
    const int set = number / (tiles * of_set), in_set = number - set * tiles * of_set;
    const int here = std::min(of_set, heads - set * of_set);
    return {in_set / here, set * of_set + in_set % here};
  }
};

/// Bytes of keys and values of a set: beside what else passes through it an L2 of 50 MB holds them.
inline constexpr std::int64_t bytes_of_head_set = std::int64_t{24} << 20;

/// Heads that have keys in common are in one set, and sets are as large as each other: a small one at the end would
/// have long tiles for few CTAs.
constexpr HeadSets head_sets(int heads, int kv_heads, std::int64_t keys, int head_dim) {
  const std::int64_t of_kv_head = std::max<std::int64_t>(keys * 2 * head_dim * bytes_of(DataType::bf16), 1);
  const auto at_most = static_cast<int>(std::clamp<std::int64_t>(bytes_of_head_set / of_kv_head, 1, kv_heads));
  const int sets = (kv_heads + at_most - 1) / at_most;
  return {heads, heads / kv_heads * ((kv_heads + sets - 1) / sets)};
}

}  // namespace weft::calibration::device
