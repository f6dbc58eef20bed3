// A matrix as its layout stores it, for kernels that read whole rows: where a GEMM has stored tiles one after the
// other, they put the rows in order on the way.
#pragma once

#include <algorithm>

#include "calibration/device/kernels.hpp"
#include "models/check/hardware_support.hpp"
#include "models/schedule/layout.hpp"

namespace weft::calibration::device {

/// Into how many blocks a tile's rows are cut, by destination.
inline int blocks_of_tile(LayoutKind kind, int gpus) {
  return kind == LayoutKind::sub_tile_ordered || kind == LayoutKind::per_destination ? gpus : 1;
}

struct StoredRows {
  Matrix storage;
  bool by_tile = false;  ///< the storage holds tiles; false: rows, and nothing below is used
  TileGrid grid = {};
  TileOrder order = {};
  int tile_rows = 1, octets_of_tile = 1;  ///< octets of columns
  std::uint32_t tiles_of_octet = 0;       ///< in 2^31ths, a bit more: times an octet's number, the tiles before it
  int blocks = 1;                         ///< of a tile's rows; a group holds first all first blocks, and so on
  bool rows_in_turn = false;              ///< of a tile go to the blocks in turn; false: block after block
  int groups = 0;                         ///< of tiles, where rows are cut into blocks
  int end_of_group[max_norm_groups] = {};
};

/// `storage` is a whole buffer, or, row-major, a part of one.
inline StoredRows stored_rows(const Matrix& storage, const Layout& layout, int gpus) {
  StoredRows rows{.storage = storage};
  if (layout.kind == LayoutKind::row_major) return rows;
  rows.by_tile = true;
  rows.grid = tile_grid(layout);
  rows.order = layout.order;
  rows.tile_rows = static_cast<int>(layout.tile_rows);
  rows.octets_of_tile = static_cast<int>(layout.tile_columns / 8);
  rows.tiles_of_octet = (std::uint32_t{1} << 31) / static_cast<std::uint32_t>(rows.octets_of_tile) + 1;
  rows.blocks = blocks_of_tile(layout.kind, gpus);
  rows.rows_in_turn = layout.kind == LayoutKind::per_destination;
  int tiles = 0;
  for (const std::int64_t of_group : layout.group_tiles)
    rows.end_of_group[rows.groups++] = tiles += static_cast<int>(of_group);
  return rows;
}

}  // namespace weft::calibration::device
