#include "scenarios/families/wave_groups.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <numeric>
#include <optional>

#include "models/base/input_error.hpp"
#include "models/cost/gemm_model.hpp"
#include "models/machine/own_kernel_support.hpp"
#include "models/schedule/own_kernels.hpp"

namespace weft::scenarios::families {
namespace {

/// FlashOverlap's kernels, whose tiles of 128 x 256 fit the SMs of most GPUs.
constexpr GemmKernel cutlass_kernel(int tile_m, int tile_n) {
  return {.tile_m = tile_m, .tile_n = tile_n, .tile_k = 32, .stages = 4, .scheduler = TileScheduler::grid};
}
constexpr std::array cutlass_kernels{cutlass_kernel(128, 256), cutlass_kernel(256, 128), cutlass_kernel(128, 128)};

/// A machine without kernels of ours has those that its library is said to choose among, made to signal: what
/// multiplies is the same, so that a signal never makes a tile faster.
std::vector<GemmKernel> kernels_of(const Machine& machine) {
  if (runs_own_kernels(machine)) return {own_kernels.begin(), own_kernels.end()};
  if (machine.gemm_candidates.empty()) return {cutlass_kernels.begin(), cutlass_kernels.end()};
  std::vector<GemmKernel> kernels;
  for (GemmKernel kernel : machine.gemm_candidates) {
    if (kernel.split_k > 1) continue;
    kernel.scheduler = TileScheduler::grid;
    kernels.push_back(kernel);
  }
  return kernels;
}

bool runs_as(const GemmKernel& kernel, SignalingTiles scheduler, LastWave last_wave) {
  if (kernel.scheduler == scheduler_of(scheduler)) return true;
  return last_wave == LastWave::may_be_cut && scheduler == SignalingTiles::static_persistent &&
         kernel.scheduler == TileScheduler::stream_k;
}

/// Whether slices of the last wave's tiles would go to CTAs that still wait for another rank with a tile of the first.
bool cuts_behind_waits(const MatrixSize& size, const GemmKernel& kernel, std::int64_t free_rows,
                       const Machine& machine) {
  if (free_rows == 0 || kernel.scheduler != TileScheduler::stream_k) return false;
  const std::int64_t tiles = tile_count(size, kernel), ctas = persistent_ctas(machine.gpu, kernel);
  const std::int64_t slices = last_wave_slices(kernel, size.k, tiles, ctas);
  return slices > 1 && slices * (tiles % ctas) > tile_count({free_rows, size.n, size.k}, kernel);
}

void require_whole_tiles(const std::string& field, std::int64_t extent) {
  if (extent % tile_extent != 0)
    throw InputError(
        field, "expected a multiple of a tile's " + std::to_string(tile_extent) + ", got " + std::to_string(extent));
}

}  // namespace

std::vector<SignalingTiles> tile_schedulers(const Machine& machine) {
  std::vector<SignalingTiles> schedulers{SignalingTiles::grid};
  if (runs_own_kernels(machine)) schedulers.push_back(SignalingTiles::static_persistent);
  return schedulers;
}

GemmKernel fastest_tiles(const MatrixSize& size, const TileChoice& choice, const Machine& machine) {
  require_whole_tiles("workload.m", choice.band_rows);
  require_whole_tiles("workload.n", size.n);
  std::optional<GemmKernel> fastest;
  double fastest_us = 0;
  for (const GemmKernel& kernel : kernels_of(machine)) {
    if (!runs_as(kernel, choice.scheduler, choice.last_wave)) continue;
    const bool cuts_evenly = choice.band_rows % (kernel.cluster_m * kernel.tile_m) == 0 &&
                             (choice.columns == TileColumns::ragged || size.n % kernel.tile_n == 0);
    if (!cuts_evenly || ctas_per_sm(machine, kernel, choice.dtype) == 0) continue;
    if (cuts_behind_waits(size, kernel, choice.free_rows, machine)) continue;
    const double time_us =
        choice.time_us ? choice.time_us(kernel) : estimated_gemm_us(machine, size, kernel, choice.dtype);
    if (!fastest || time_us < fastest_us) fastest = kernel, fastest_us = time_us;
  }
  if (!fastest)
    throw InputError("schedule.family", "expected a machine with SMs that a tile of " + std::to_string(tile_extent) +
                                            " x " + std::to_string(tile_extent) + " fits, got " + machine.name);
  return *fastest;
}

Waves waves_of(const MatrixSize& size, std::int64_t band_rows, DataType dtype, SignalingTiles scheduler,
               int collective_ctas, const Machine& machine) {
  const int left = machine.gpu.sms() - collective_ctas;
  if (left < 1)
    throw InputError("schedule.max_ctas", "expected fewer than the " + std::to_string(machine.gpu.sms()) + " SMs of " +
                                              machine.name + ", got " + std::to_string(collective_ctas));
  const GemmKernel kernel =
      fastest_tiles(size, {.band_rows = band_rows, .dtype = dtype, .scheduler = scheduler}, machine);
  const std::int64_t ctas = ctas_per_sm(machine, kernel, dtype);
  return {.kernel = kernel,
          .wave_us =
              static_cast<double>(ctas) * time_tile(machine, size, kernel, dtype).tile_us / machine.gemm.own_efficiency,
          .tiles = tile_count(size, kernel),
          .tiles_of_wave = left * ctas,
          .tiles_of_wave_alone = machine.gpu.sms() * ctas};
}

std::vector<std::int64_t> tiles_of_groups(const Waves& waves, const std::vector<int>& groups) {
  std::vector<std::int64_t> tiles;
  const std::int64_t before_last = std::accumulate(groups.begin(), groups.end() - 1, std::int64_t{0});
  if (before_last >= waves.count())
    throw InputError("schedule.groups", "expected fewer waves before the last group than the GEMM's " +
                                            std::to_string(waves.count()) + ", got " + std::to_string(before_last));
  std::transform(groups.begin(), groups.end() - 1, std::back_inserter(tiles),
                 [&](int group) { return group * waves.tiles_of_wave; });
  tiles.push_back(waves.tiles - before_last * waves.tiles_of_wave);
  return tiles;
}

}  // namespace weft::scenarios::families
