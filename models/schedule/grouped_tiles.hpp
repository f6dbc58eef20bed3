// The tiles that our kernel cuts a grouped GEMM into: each belongs to one group, whose rows alone it may store.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "models/schedule/amounts.hpp"
#include "models/schedule/own_kernels.hpp"
#include "models/schedule/tile_order.hpp"

namespace weft {

/// A kernel reads one in 16 bytes.
struct alignas(16) GroupedTile {
  std::int32_t row = 0;         ///< the first, of a and c
  std::int32_t weight_row = 0;  ///< the first, of b, which holds the groups' matrices one below the other
  std::int32_t column = 0;      ///< the first, of c
  std::int32_t rows = 0;        ///< that belong to the group; 0: nothing is stored
  bool operator==(const GroupedTile&) const = default;
};

/// Group after group, of each in the order of a GEMM alone (own_order). For clusters of two a group has an even number
/// of rows of tiles, of which the last may be empty: tiles 2 i and 2 i + 1 lie one below the other.
std::vector<GroupedTile> grouped_tiles(const GroupedSize& size, const GemmKernel& kernel);

/// Of a group with so many rows; clusters are whole.
TileGrid grid_of_group(std::int64_t rows, std::int64_t n, const GemmKernel& kernel);

/// The sum over the groups of ceil(m / tile_m) x ceil(n / tile_n), with rows of tiles for whole clusters. Kernels of
/// grouped GEMMs have no slices along k.
std::int64_t tile_count(const GroupedSize& size, const GemmKernel& kernel);

/// Rows of a that a tile of ours loads whose group has so many in it: a power of two, one for none.
constexpr int rows_loaded(std::int64_t rows) {
  return static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(rows, 1))));
}
/// And that it multiplies: those of both, one or none of its warpgroups.
constexpr int rows_multiplied(std::int64_t rows) {
  return rows > own_tile_m / 2 ? own_tile_m : rows > 0 ? own_tile_m / 2 : 0;
}

/// Of our persistent kernels, one CTA on each SM. Wide tiles and pairs load less, but leave more of a group's last
/// tiles and of the last wave unused: the widest one whose CTAs pass over hardly more columns than those of any other.
GemmKernel own_grouped_kernel(const GroupedSize& size, int sms);

}  // namespace weft
