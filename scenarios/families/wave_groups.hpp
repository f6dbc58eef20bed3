// Which tiles of a GEMM are sent together: groups counted in waves of the SMs that a collective leaves to the GEMM.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "models/base/division.hpp"
#include "models/machine/machine.hpp"
#include "scenarios/schedule_choice.hpp"

namespace weft::scenarios::families {

/// Tiles have this many rows and columns, or up to twice as many along one of both.
inline constexpr int tile_extent = 128;

/// Whether tiles cover the columns exactly, as a buffer of whole tiles needs, or the last ones may reach beyond.
enum class TileColumns { whole, ragged };

/// Whether a static_persistent kernel may give way to a stream_k one.
enum class LastWave { whole, may_be_cut };

/// The waves of a GEMM with a kernel of its own.
struct Waves {
  GemmKernel kernel;
  double wave_us = 0;
  std::int64_t tiles = 0;
  std::int64_t tiles_of_wave = 0;        ///< (SMs - SMs of the collective) x CTAs on an SM
  std::int64_t tiles_of_wave_alone = 0;  ///< SMs x CTAs on an SM
  std::int64_t count() const { return divided_up(tiles, tiles_of_wave); }
};
/// How the tiles of the kernels that signal may be scheduled on this machine, the usual one first.
std::vector<SignalingTiles> tile_schedulers(const Machine& machine);

/// What tiles a GEMM may have.
struct TileChoice {
  std::int64_t band_rows = 0;  ///< whole tiles divide so many of its rows
  DataType dtype = DataType::bf16;
  SignalingTiles scheduler = SignalingTiles::grid;
  TileColumns columns = TileColumns::whole;
  LastWave last_wave = LastWave::whole;
  std::int64_t free_rows = 0;  ///< their tiles wait for no rank, those of all others do; 0: none does
  std::function<double(const GemmKernel&)> time_us{};  ///< what is to be short; where empty: the GEMM alone
};
/// The fastest kernel of these. Throws InputError where the rows of a
/// band or the columns are no multiple of tile_extent, or no such kernel fits an SM or has that scheduler.
GemmKernel fastest_tiles(const MatrixSize& size, const TileChoice& choice, const Machine& machine);

/// With the fastest tiles that divide `band_rows`. Throws InputError as fastest_tiles(), and where the collective
/// leaves no SM.
Waves waves_of(const MatrixSize& size, std::int64_t band_rows, DataType dtype, SignalingTiles scheduler,
               int collective_ctas, const Machine& machine);

/// Tiles of each group from its waves; the last group takes the rest. Throws InputError where nothing is left for it.
std::vector<std::int64_t> tiles_of_groups(const Waves& waves, const std::vector<int>& groups);

}  // namespace weft::scenarios::families
