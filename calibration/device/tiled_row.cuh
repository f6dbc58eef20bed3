// A row of a matrix that is stored tile by tile, read in octets of columns. Where a tile's part of the row lies is what
// storage_of() of a layout says; what does not depend on the column is computed once for the row.
#pragma once

#include "calibration/device/octet_rows.cuh"
#include "calibration/device/stored_rows.hpp"
#include "models/schedule/own_kernels.hpp"

namespace weft::calibration::device {

class TiledRow {
 public:
  __device__ TiledRow(const StoredRows& rows, std::int64_t row) : rows_(rows) {
    const Tile first{row / rows.tile_rows, 0};
    first_tile_ = static_cast<int>(index_of(rows.order, rows.grid, first));
    tiles_of_column_ = static_cast<int>(height_of_band(rows.order, rows.grid, first.row));
    const int row_in_tile = static_cast<int>(row % rows.tile_rows);
    rows_of_block_ = rows.tile_rows / rows.blocks;
    block_ = rows.rows_in_turn ? row_in_tile % rows.blocks : row_in_tile / rows_of_block_;
    row_in_block_ = rows.rows_in_turn ? row_in_tile / rows.blocks : row_in_tile % rows_of_block_;
  }

  __device__ const Octet& operator[](std::int64_t octet) const {
    const auto tile_column = static_cast<int>(static_cast<std::uint64_t>(octet) * rows_.tiles_of_octet >> 31);
    const int octet_of_tile = static_cast<int>(octet) - tile_column * rows_.octets_of_tile;
    const std::int64_t stored = storage_row(first_tile_ + tile_column * tiles_of_column_);
    return static_cast<const Octet*>(rows_.storage.data)[stored * rows_.octets_of_tile + octet_of_tile];
  }

 private:
  __device__ std::int64_t storage_row(std::int64_t tile) const {
    if (rows_.blocks == 1) return tile * rows_.tile_rows + row_in_block_;
    const int group = group_of(static_cast<int>(tile));
    const std::int64_t first = group > 0 ? rows_.end_of_group[group - 1] : 0, tiles = rows_.end_of_group[group] - first;
    return first * rows_.tile_rows + (block_ * tiles + tile - first) * rows_of_block_ + row_in_block_;
  }
  __device__ int group_of(int tile) const {
    int group = 0, end = rows_.groups - 1;
    while (group < end) {
      const int middle = (group + end) / 2;
      if (tile < rows_.end_of_group[middle])
        end = middle;
      else
        group = middle + 1;
    }
    return group;
  }

  const StoredRows& rows_;
  int first_tile_, tiles_of_column_, rows_of_block_, block_, row_in_block_;
};

/// That little bit more makes no tile of itself.
static_assert((max_norm_columns / 8) * (max_norm_columns / 8) < std::int64_t{1} << 31);

}  // namespace weft::calibration::device
