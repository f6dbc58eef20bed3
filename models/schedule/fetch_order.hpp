// In what order a GEMM of our own fetches rows of a: what the simulator and the kernel on the GPU both read.
#pragma once

#include <algorithm>
#include <cstdint>

#include "models/base/division.hpp"
#include "models/schedule/own_kernels.hpp"
#include "models/schedule/schedule.hpp"
#include "models/schedule/tile_order.hpp"

namespace weft {

/// Band after band of rows, as tiles run, and of a band chunk after chunk of all its rows: a tile multiplies what has
/// come of its rows while the rest comes. All bands and chunks but the last ones are alike.
struct FetchOrder {
  int rows = 0, row_bytes = 0;  ///< of a block of rows
  int band_rows = 1, bands = 0;
  int chunk_steps = 1, chunk_bytes = 0, chunks = 0;  ///< of a row; as much as so many steps along k read
  int unit_bytes = 0;                                ///< of a row, which a CTA copies at a time
};

/// Of a row, what one copy brings at most.
inline constexpr int largest_fetch_unit = 2048;

/// Of the blocks of `size` of a GEMM whose tiles run on `ctas` at a time: those of a band run together, since a tile
/// that stood behind another band's rows would hold its CTA until they have come. Rows are cut evenly: a CTA has as
/// many bytes under way whatever its units have, but short ones at the end of each row would take as long as whole
/// ones. A chunk of a band has about 2 MiB, where the band has so much: tiles ask less often what has come. `tile_rows`
/// are other than ours on machines that our kernels do not run on.
constexpr FetchOrder fetch_order(const MatrixSize& size, DataType dtype, const TileOrder& order, const TileGrid& grid,
                                 int ctas, int tile_rows = own_tile_m) {
  constexpr std::int64_t usual_bytes = 2 << 20;
  const auto row_bytes = static_cast<int>(size.k * bytes_of(dtype));
  const auto step_bytes = static_cast<int>(own_tile_k * bytes_of(dtype));
  const std::int64_t rows_at_once = band_rows(order, grid);
  const std::int64_t bands_of_wave = ctas / (rows_at_once * grid.columns);
  const std::int64_t rows = std::min(rows_at_once * std::max<std::int64_t>(1, bands_of_wave), grid.rows);
  const std::int64_t units_of_row = divided_up(row_bytes, largest_fetch_unit);
  const auto steps_of_unit = static_cast<int>(divided_up(divided_up(row_bytes, units_of_row), step_bytes));
  FetchOrder fetch{.rows = static_cast<int>(size.m), .row_bytes = row_bytes};
  fetch.band_rows = static_cast<int>(rows * tile_rows);
  fetch.bands = static_cast<int>(divided_up(grid.rows, rows));
  fetch.unit_bytes = steps_of_unit * step_bytes;
  const auto units_of_chunk = static_cast<int>(
      std::clamp<std::int64_t>(usual_bytes / (std::int64_t{fetch.band_rows} * fetch.unit_bytes), 1, units_of_row));
  fetch.chunk_steps = units_of_chunk * steps_of_unit;
  fetch.chunk_bytes = units_of_chunk * fetch.unit_bytes;
  fetch.chunks = static_cast<int>(divided_up(row_bytes, fetch.chunk_bytes));
  return fetch;
}

}  // namespace weft
