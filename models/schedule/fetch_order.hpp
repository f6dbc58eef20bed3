// In what order a GEMM of our own fetches rows of a: what the simulator and the kernel on the GPU both read.
#pragma once

#include <algorithm>
#include <cstdint>

#include "models/schedule/own_kernels.hpp"
#include "models/schedule/schedule.hpp"
#include "models/schedule/tile_order.hpp"

namespace weft {

/// Band after band of tile rows, as tiles run, and of a band chunk after chunk of all its rows: a tile multiplies what
/// has come of its rows while the rest comes. All bands and chunks but the last ones are alike.
struct FetchOrder {
  int rows = 0, row_bytes = 0;  ///< of a block of rows
  int band_rows = 1, bands = 0;
  int chunk_steps = 1, chunk_bytes = 0, chunks = 0;  ///< of a row; as much as so many steps along k read
};

/// Of the blocks of `size` of a GEMM. A chunk of a band has at least 2 MiB, where the band has so much, which is 2 KiB
/// of each of its rows: pieces of 1 KiB come at a lower rate, and launches whose links bind took up to 1.4 times as
/// long with them; with 4 MiB they are alike (64 gathers on 2 and on 4 H200s).
constexpr FetchOrder fetch_order(const MatrixSize& size, DataType dtype, const TileOrder& order, const TileGrid& grid) {
  const auto element_bytes = static_cast<int>(bytes_of(dtype));
  const int step_bytes = own_tile_k * element_bytes, bytes_at_once = 512;  // a warp's lanes load 16 bytes each
  constexpr int least_bytes = 2 << 20;
  const auto up_to_multiple = [](int value, int of) { return (value + of - 1) / of * of; };
  FetchOrder fetch{.rows = static_cast<int>(size.m), .row_bytes = static_cast<int>(size.k) * element_bytes};
  const auto rows = static_cast<int>(band_rows(order, grid));
  fetch.band_rows = rows * own_tile_m;
  fetch.bands = (static_cast<int>(grid.rows) + rows - 1) / rows;
  fetch.chunk_bytes = up_to_multiple(
      std::min(fetch.row_bytes, up_to_multiple(least_bytes, fetch.band_rows) / fetch.band_rows), bytes_at_once);
  fetch.chunk_steps = fetch.chunk_bytes / step_bytes;
  fetch.chunks = up_to_multiple(fetch.row_bytes, fetch.chunk_bytes) / fetch.chunk_bytes;
  return fetch;
}

}  // namespace weft
