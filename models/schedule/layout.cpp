#include "models/schedule/layout.hpp"

#include <algorithm>

#include "models/base/division.hpp"

namespace weft {
namespace {

/// Consecutive tiles of one tile group: sub-tiles are sorted by destination within it.
struct TileSpan {
  std::int64_t first = 0, count = 0;
};

TileSpan group_of(const std::vector<std::int64_t>& group_tiles, std::int64_t tile) {
  TileSpan group;
  for (const std::int64_t tiles : group_tiles) {
    group = {group.first + group.count, tiles};
    if (tile < group.first + group.count) break;
  }
  return group;
}

/// A row of a tile by the rank that it goes to, and its number among the tile's rows for that rank.
struct RowOfDestination {
  std::int64_t destination = 0, row = 0;
};

RowOfDestination of_destination(const Layout& layout, int gpus, std::int64_t row) {
  if (layout.kind == LayoutKind::per_destination) return {row % gpus, row / gpus};
  const std::int64_t sub_rows = layout.tile_rows / gpus;
  return {row / sub_rows, row % sub_rows};
}

/// Storage row of row `row` of tile number `tile`. Inside a group of T tiles, destination d holds T times
/// tile_rows / gpus rows.
std::int64_t storage_row(const Layout& layout, int gpus, std::int64_t tile, std::int64_t row) {
  if (layout.kind == LayoutKind::tile_ordered) return tile * layout.tile_rows + row;
  const TileSpan group = group_of(layout.group_tiles, tile);
  const std::int64_t sub_rows = layout.tile_rows / gpus;
  const RowOfDestination place = of_destination(layout, gpus, row);
  return group.first * layout.tile_rows + (place.destination * group.count + tile - group.first) * sub_rows + place.row;
}

}  // namespace

TileGrid tile_grid(std::int64_t rows, std::int64_t columns, std::int64_t tile_rows, std::int64_t tile_columns) {
  return {divided_up(rows, tile_rows), divided_up(columns, tile_columns)};
}
TileGrid tile_grid(const Layout& layout) {
  return tile_grid(layout.rows, layout.columns, layout.tile_rows, layout.tile_columns);
}
TileGrid tile_grid(const GemmKernel& kernel, const MatrixSize& size) {
  return tile_grid(size.m, size.n, kernel.tile_m, kernel.tile_n);
}

std::vector<TileRectangle> tile_rectangles(const TileOrder& order, const TileGrid& grid, std::int64_t first,
                                           std::int64_t count) {
  std::vector<TileRectangle> rectangles;
  const std::int64_t band = band_rows(order, grid);
  const std::int64_t end = first + count;
  while (first < end) {
    const Tile tile = tile_at(order, grid, first);
    const std::int64_t band_row = tile.row / band * band;
    const std::int64_t height = height_of_band(order, grid, tile.row);
    const std::int64_t left = end - first;
    const bool at_column_start = tile.row == band_row;
    TileRectangle next{tile.row, 0, tile.column, 1};
    if (at_column_start && tile.column == 0 && left >= height * grid.columns) {
      // Whole bands; all but the last band of the grid have the same height.
      const std::int64_t bands = std::max<std::int64_t>(1, left / (band * grid.columns));
      next.rows = std::min(bands * band, grid.rows - band_row);
      next.columns = grid.columns;
    } else if (at_column_start && left >= height) {
      next.rows = height;
      next.columns = std::min(left / height, grid.columns - tile.column);
    } else {
      next.rows = std::min(left, band_row + height - tile.row);
    }
    rectangles.push_back(next);
    first += next.rows * next.columns;
  }
  return rectangles;
}

std::vector<std::int64_t> groups_of_first_tiles(const std::vector<std::int64_t>& groups, std::int64_t tiles) {
  std::vector<std::int64_t> first = groups;
  for (std::int64_t& group : first) {
    group = std::min(group, tiles);
    tiles -= group;
  }
  return first;
}

Layout of_first_rows(Layout layout, std::int64_t rows) {
  if (layout.kind == LayoutKind::row_major) return layout;
  layout.rows = rows;
  layout.group_tiles = groups_of_first_tiles(layout.group_tiles, tile_grid(layout).tiles());
  return layout;
}

Element storage_of(const Layout& layout, int gpus, const Element& logical) {
  if (layout.kind == LayoutKind::row_major) return logical;
  const Tile tile{logical.row / layout.tile_rows, logical.column / layout.tile_columns};
  const std::int64_t index = index_of(layout.order, tile_grid(layout), tile);
  return {storage_row(layout, gpus, index, logical.row % layout.tile_rows), logical.column % layout.tile_columns};
}

Element place_after_exchange(const Layout& layout, const std::vector<std::int64_t>& rows_of_rank, int source,
                             int destination, const Element& logical) {
  const auto gpus = static_cast<int>(rows_of_rank.size());
  const auto on_rank = [&](int rank) { return of_first_rows(layout, rows_of_rank[static_cast<std::size_t>(rank)]); };
  const Element stored = storage_of(on_rank(source), gpus, logical);
  std::int64_t first_tile = 0;
  std::size_t group = 0;
  for (; stored.row / layout.tile_rows >= first_tile + layout.group_tiles[group]; ++group)
    first_tile += layout.group_tiles[group];
  const auto pool_of = [&](int rank) { return on_rank(rank).group_tiles[group] * layout.tile_rows / gpus; };
  std::int64_t row = stored.row - destination * pool_of(source);
  for (int before = 0; before < source; ++before) row += pool_of(before);
  return {row, stored.column};
}

}  // namespace weft
