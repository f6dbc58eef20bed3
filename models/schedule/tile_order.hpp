// In which order a GEMM's tiles run: what the simulator, the layouts and the kernel on the GPU all read.
#pragma once

#include <cstdint>

#include "models/schedule/buffers.hpp"

namespace weft {

/// Tiles that cover a matrix, counted along rows and columns.
struct TileGrid {
  std::int64_t rows = 0, columns = 0;
  constexpr std::int64_t tiles() const { return rows * columns; }
};

/// Place of a tile in its grid.
struct Tile {
  std::int64_t row = 0, column = 0;
  bool operator==(const Tile&) const = default;
};

/// Tile rows of every band but perhaps the last.
constexpr std::int64_t band_rows(const TileOrder& order, const TileGrid& grid) {
  return order.swizzle < grid.rows ? order.swizzle : grid.rows;
}

/// Tile rows of the band that a tile row lies in, which tiles run down before they go to the next column.
constexpr std::int64_t height_of_band(const TileOrder& order, const TileGrid& grid, std::int64_t tile_row) {
  const std::int64_t band = band_rows(order, grid), left = grid.rows - tile_row / band * band;
  return band < left ? band : left;
}

/// The tile that runs as number `index`, 0 <= index < grid.tiles(); the last band may hold fewer than `swizzle` rows.
constexpr Tile tile_at(const TileOrder& order, const TileGrid& grid, std::int64_t index) {
  const std::int64_t band = band_rows(order, grid);
  const std::int64_t band_tiles = band * grid.columns;
  const std::int64_t first_row = index / band_tiles * band;
  const std::int64_t height = height_of_band(order, grid, first_row);
  const std::int64_t in_band = index % band_tiles;
  return {first_row + in_band % height, in_band / height};
}

/// The number of a tile in the order in which they run, the inverse of tile_at().
constexpr std::int64_t index_of(const TileOrder& order, const TileGrid& grid, const Tile& tile) {
  const std::int64_t band = band_rows(order, grid), first_row = tile.row / band * band;
  return first_row * grid.columns + tile.column * height_of_band(order, grid, tile.row) + tile.row - first_row;
}

}  // namespace weft
