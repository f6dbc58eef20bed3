// What a GEMM kernel is, as the library and our own tell it apart from others.
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "models/base/names.hpp"

namespace weft {

enum class TileScheduler {
  grid,                ///< one CTA a tile: an SM that becomes free goes to the next CTA by priority and arrival
  static_persistent,   ///< CTA i computes tiles i, i + CTAs, …; whoever holds an SM delays its whole share
  dynamic_persistent,  ///< resident CTAs take the next tile; SMs come free only when no tile is left
  stream_k,            ///< like dynamic_persistent, with the last partial wave cut along k
};
template <>
struct NamesOf<TileScheduler> {
  static constexpr std::array names{
      std::pair{TileScheduler::grid, std::string_view{"grid"}},
      std::pair{TileScheduler::static_persistent, std::string_view{"static_persistent"}},
      std::pair{TileScheduler::dynamic_persistent, std::string_view{"dynamic_persistent"}},
      std::pair{TileScheduler::stream_k, std::string_view{"stream_k"}}};
};

/// A GEMM kernel: output tile per CTA, k step, CTAs of a cluster, pipeline stages, slices along k.
struct GemmKernel {
  int tile_m = 128, tile_n = 128, tile_k = 64;
  int cluster_m = 1, cluster_n = 1;
  int stages = 4;
  int split_k = 1;
  TileScheduler scheduler = TileScheduler::grid;
  bool operator==(const GemmKernel&) const = default;
};

}  // namespace weft
