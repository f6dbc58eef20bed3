// Layouts as functions: where an element of the logical matrix lies in storage, and back.
#pragma once

#include <cstdint>
#include <vector>

#include "models/schedule/schedule.hpp"
#include "models/schedule/tile_order.hpp"

namespace weft {

/// Partial tiles at the edges count as tiles.
TileGrid tile_grid(std::int64_t rows, std::int64_t columns, std::int64_t tile_rows, std::int64_t tile_columns);
TileGrid tile_grid(const Layout& layout);
TileGrid tile_grid(const GemmKernel& kernel, const MatrixSize& size);

/// The block of rows in which a GEMM's tile or tile group begins, and its place there.
struct PlaceInBlocks {
  std::size_t block = 0;
  std::int64_t first = 0;  ///< tile of the block, in execution order
};
inline PlaceInBlocks place_in_blocks(std::int64_t tile, const TileGrid& of_block) {
  return {static_cast<std::size_t>(tile / of_block.tiles()), tile % of_block.tiles()};
}

/// Tiles [first_row, first_row + rows) x [first_column, first_column + columns) of a grid.
struct TileRectangle {
  std::int64_t first_row = 0, rows = 0, first_column = 0, columns = 0;
  bool operator==(const TileRectangle&) const = default;
};
/// Disjoint rectangles, at most five, that together are the tiles `first`, …, `first + count - 1` in execution order.
std::vector<TileRectangle> tile_rectangles(const TileOrder& order, const TileGrid& grid, std::int64_t first,
                                           std::int64_t count);

/// Tiles of each group that are among the first `tiles` of all.
std::vector<std::int64_t> groups_of_first_tiles(const std::vector<std::int64_t>& groups, std::int64_t tiles);

/// Of a matrix that has only the first `rows` rows, whole tiles, in the same storage.
Layout of_first_rows(Layout layout, std::int64_t rows);

struct Element {
  std::int64_t row = 0, column = 0;
  bool operator==(const Element&) const = default;
};
/// Storage row and column of a logical element: no two have the same for a layout that passed validation.
Element storage_of(const Layout& layout, int gpus, const Element& logical);

/// Where rank `destination` stores an element of rank `source` once each tile group's pools have been exchanged: pools
/// of one group lie in the order of the ranks that they come from. `layout` (per_destination) is that of the rank with
/// most of the `rows_of_rank`.
Element place_after_exchange(const Layout& layout, const std::vector<std::int64_t>& rows_of_rank, int source,
                             int destination, const Element& logical);

}  // namespace weft
