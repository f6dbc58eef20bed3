// Cost model of a tiled GEMM: how many tiles, how long one tile. Waves are not a
// formula here: they come out of the dispatch of CTAs to SMs.
#pragma once

#include <cstdint>

#include "models/machine/machine.hpp"
#include "models/schedule/own_kernels.hpp"

namespace weft {

/// Whether all warps of a CTA work on one tile of the library's kernel, as they do on large ones.
bool is_cooperative(const GemmTiming& timing, const GemmKernel& kernel, DataType dtype);

/// Whether all rows of C[m, n], A[m, k] and B[n, k] of this type begin at whole 16 bytes, as the kernels for Hopper and
/// newer GPUs need them. Rows of fp8, which has no other kernels, are taken for such.
bool has_rows_of_16_bytes(std::int64_t n, std::int64_t k, DataType dtype);
inline constexpr std::int64_t elements_of_16_bytes = 8;  ///< of bf16
/// Whether all of them begin at 4 bytes of bf16.
bool has_even_rows(std::int64_t n, std::int64_t k);

/// CTA-sized pieces of work: output tiles, padded to whole clusters, times the slices along k.
std::int64_t tile_count(const MatrixSize& size, const GemmKernel& kernel);

/// Persistent CTAs of this cluster size that the GPU holds at once, one on an SM.
int persistent_ctas(const Gpu& gpu, const GemmKernel& kernel);

/// What a CTA takes of its SM's shared memory, the hardware's part included. Our own GEMMs leave room for small
/// kernels.
Bytes shared_memory_of_cta(const Machine& machine, const GemmKernel& kernel, DataType dtype);

/// CTAs of this kernel that an empty SM holds.
int ctas_per_sm(const Machine& machine, const GemmKernel& kernel, DataType dtype);

/// A wave of tiles on one SM each, and what a kernel takes once whatever its waves.
struct TileTiming {
  double tile_us = 0;
  double once_us = 0;
  double start_us = 0;  ///< of once_us: while a CTA holds its SM; 0 with a CTA for each tile
  double l2_bytes = 0;  ///< operands that the tile reads from the L2, less what its cluster saves
};
/// tiles_of() at `clock_share` of the maximum clock, with the operands in reach of the L2 and all CTAs of a wave at
/// work; see GemmTiming for the formula.
TileTiming time_tile(const Machine& machine, const MatrixSize& size, const GemmKernel& kernel, DataType dtype,
                     double clock_share = 1);

/// CTAs that are at work at once, the rows that they read between them, and which shares of the rows of A and of B that
/// their tiles cover lie outside of the matrix: the same at every clock. Of the rows of A in a tile, only shares may be
/// loaded and multiplied; what is multiplied is that of the CTA which has most.
struct WaveOfTiles {
  double ctas = 0, rows = 0;
  double outside_m = 0, outside_n = 0;
  double loaded_m = 1, multiplied_m = 1;
  double loaded_n = 1;  ///< of the bytes of B's rows, where its elements are packed
  /// Operands of a tile are loaded while the one before is stored. The formula of other GEMMs has them wait, and
  /// measured_factors() know how long they do.
  bool loads_ahead = false;
};
WaveOfTiles wave_of_tiles(const Machine& machine, const MatrixSize& size, const GemmKernel& kernel);

/// The same where the elements of b are packed into a share of their type's bytes, as which its rows count. A wave
/// reads at most so many rows of a.
WaveOfTiles packed(WaveOfTiles wave, double most_rows_of_a, double b_share);

/// What is known of a GEMM besides its size and kernel.
struct GemmFactors {
  double time = 1;     ///< by what its tiles, start and end take longer than the formula says
  double energy = 1;   ///< by what SMs, tensor cores and the L2 take more energy for it
  double b_share = 1;  ///< of the bytes of b's type, which its elements take where they are packed
};

/// A k step of a tile at some clock by the formula, and what of it takes how long by itself.
struct StepTiming {
  double us = 0;
  double tensor_us = 0, latency_us = 0, l2_us = 0;
};

/// The tiles of such a wave, which read rows of k elements and write rows of n: at each clock they take another time.
class TileOfWave {
 public:
  /// By the formula alone.
  TileOfWave(const Machine& machine, std::int64_t n, std::int64_t k, const GemmKernel& kernel, DataType dtype,
             const WaveOfTiles& wave);

  void correct_by(const GemmFactors& factors) { factors_ = factors; }

  double l2_bytes() const { return l2_bytes_; }
  const WaveOfTiles& wave() const { return wave_; }
  double energy_factor() const { return factors_.energy; }
  TileTiming at(double clock_share) const;
  /// At the maximum clock.
  StepTiming step() const;

 private:
  StepTiming step_at(double clock_share) const;
  double steps_us(double clock_share, double waited_for_us) const;

  WaveOfTiles wave_;
  double k_steps_ = 0, l2_bytes_ = 0;
  // Of a step: the tensor cores' operations and rate at the maximum clock, and what their efficiency leaves of it,
  double step_flops_ = 0, flops_per_us_ = 0, efficiency_ = 0;
  double load_latency_us_ = 0;    // what loads wait at the maximum clock,
  double l2_us_ = 0;              // what the L2 takes, and the share of these rates that is
  double narrow_efficiency_ = 1;  // reached.
  bool loads_ahead_ = false;
  double epilogue_us_ = 0;            // at the maximum clock,
  double epilogue_waited_for_ = 0;    // and the share of it that the next tile waits for
  double each_us_ = 0, once_us_ = 0;  // of a tile, and of the kernel without its epilogue,
  double once_at_clock_us_ = 0;       // part of which follows the clock
  GemmFactors factors_;
  bool is_own_ = false, is_grid_ = false;
  double end_us_ = 0;  // of a kernel of the library after its last CTA's
};

/// Those of a GEMM, which takes and draws so much more than the formula says.
TileOfWave tiles_of(const Machine& machine, const MatrixSize& size, const GemmKernel& kernel, DataType dtype,
                    const GemmFactors& factors);
/// Corrected by measured_factors(), where the profile has any for such a kernel.
TileOfWave tiles_of(const Machine& machine, const MatrixSize& size, const GemmKernel& kernel, DataType dtype);

/// Rate of the GEMM's kernel over that of the library's, of the same tiles and at the same clock: below 1 for one that
/// signals or waits tile by tile, as no library's kernel does.
double kernel_efficiency(const Machine& machine, const Gemm& gemm);
double kernel_efficiency(const Machine& machine, const GemmKernel& kernel);

/// Slices along k of each tile of a last wave that is not full: 1 but for stream_k kernels of ours. `ready_tiles`: the
/// first ones, whose rows do not come from peers.
std::int64_t last_wave_slices(const GemmKernel& kernel, std::int64_t k, std::int64_t tiles, std::int64_t ctas,
                              std::int64_t ready_tiles = every_tile);

/// How long such a wave takes, in tiles of `tile_us`.
double share_of_last_wave(const Machine& machine, const GemmKernel& kernel, std::int64_t slices, double tile_us);

/// Of the GEMM alone, in the time of a tile. `ready_tiles`: as for last_wave_slices().
double lone_waves(const Machine& machine, const MatrixSize& size, const GemmKernel& kernel, const TileTiming& timing,
                  std::int64_t ready_tiles = every_tile);

/// Energy of the tensor cores and of operands from the L2 over that of the library's kernel of the same tile, for bf16.
double kernel_energy(const Machine& machine, const GemmKernel& kernel, DataType dtype);

/// Rows of A and of B that one wave reads between its CTAs: its tiles lie as nearly in a square as the matrix allows,
/// what a tile covers beyond the matrix is not read, and every slice along k has its own.
double rows_of_wave(const MatrixSize& size, const GemmKernel& kernel, double ctas);

/// How long all SMs together are at work on that many tiles: what a GEMM's power counts.
double busy_us(const Gpu& gpu, std::int64_t tiles, const TileTiming& timing);

/// What the gap before a GEMM is longer by where its tile counter is filled first.
double counter_fill_us(const Machine& machine, const Schedule& schedule);

/// Split-K leaves partial sums in fp32 that a second kernel adds up; 0 without split-K.
double split_k_reduction_us(const Machine& machine, const MatrixSize& size, const GemmKernel& kernel);

/// Time of the whole GEMM on an otherwise idle GPU by the formula alone: waves x tile time. For choosing kernels, not
/// for predictions. `ready_tiles`: as for last_wave_slices().
double estimated_gemm_us(const Machine& machine, const MatrixSize& size, const GemmKernel& kernel,
                         DataType dtype = DataType::bf16, std::int64_t ready_tiles = every_tile);
/// Of one whose tiles are known.
double estimated_gemm_us(const Machine& machine, const MatrixSize& size, const GemmKernel& kernel,
                         const TileOfWave& by_formula, std::int64_t ready_tiles = every_tile);

}  // namespace weft
