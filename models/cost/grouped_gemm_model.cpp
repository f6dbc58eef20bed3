#include "models/cost/grouped_gemm_model.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <vector>

#include "models/base/division.hpp"
#include "models/cost/gemm_kernel_choice.hpp"
#include "models/cost/gemm_model.hpp"
#include "models/machine/own_kernel_support.hpp"
#include "models/schedule/grouped_tiles.hpp"
#include "models/schedule/own_kernels.hpp"

namespace weft {
namespace {

std::int64_t groups_with_rows(const GroupedSize& size) {
  return std::count_if(size.group_rows.begin(), size.group_rows.end(), [](std::int64_t rows) { return rows > 0; });
}

MatrixSize mean_group(const GroupedSize& size) {
  return {divided_up(size.rows(), std::max<std::int64_t>(1, groups_with_rows(size))), size.n, size.k};
}

/// Of our own kernel's tiles, sums over the rows of tiles of all groups.
struct RowsOfTiles {
  double loaded = 0, multiplied = 0;
  double outside = 0;  ///< loaded, and beyond the last group
};

RowsOfTiles rows_of_tiles(const GroupedSize& size, const GemmKernel& kernel) {
  RowsOfTiles sum;
  std::int64_t first = 0;
  const std::int64_t all = size.rows();
  for (const std::int64_t rows : size.group_rows) {
    const std::int64_t tiles = grid_of_group(rows, size.n, kernel).rows;
    for (std::int64_t tile = 0; tile < tiles; ++tile) {
      const std::int64_t before = tile * kernel.tile_m;
      const std::int64_t own = std::clamp<std::int64_t>(rows - before, 0, kernel.tile_m);
      const int loaded = rows_loaded(own);
      sum.loaded += loaded;
      sum.multiplied += rows_multiplied(own);
      sum.outside += static_cast<double>(std::clamp<std::int64_t>(first + before + loaded - all, 0, loaded));
    }
    first += rows;
  }
  return sum;
}

/// Of the rows that the tiles of a CTA cover, the share that it multiplies, by the CTA that multiplies most: it has
/// tile i and each `ctas`-th behind it, and those of a cluster wait for each other.
double most_multiplied(const GroupedSize& size, const GemmKernel& kernel, int ctas) {
  const std::vector<GroupedTile> tiles = grouped_tiles(size, kernel);
  const auto pair = static_cast<std::size_t>(kernel.cluster_m);
  std::vector<std::int64_t> of_cta(std::min(tiles.size(), static_cast<std::size_t>(ctas)));
  for (std::size_t tile = 0; tile < tiles.size(); tile += pair) {
    int rows = 0;
    for (std::size_t i = tile; i < tile + pair; ++i) rows = std::max(rows, rows_multiplied(tiles[i].rows));
    of_cta[tile % of_cta.size()] += rows;
  }
  const std::int64_t waves = divided_up(std::ssize(tiles), std::ssize(of_cta));
  return static_cast<double>(std::ranges::max(of_cta)) / static_cast<double>(waves * kernel.tile_m);
}

}  // namespace

Flops computed_flops(const GroupedSize& size, const GemmKernel& kernel) {
  if (!is_own_kernel(kernel)) return size.flops();
  return MatrixSize{static_cast<std::int64_t>(rows_of_tiles(size, kernel).multiplied), size.n, size.k}.flops();
}

WaveOfTiles wave_of_tiles(const Machine& machine, const GroupedSize& size, const GemmKernel& kernel) {
  const auto tiles = static_cast<double>(tile_count(size, kernel));
  const double ctas = std::min(tiles, static_cast<double>(persistent_ctas(machine.gpu, kernel)));
  const double tiles_of_group = tiles / static_cast<double>(groups_with_rows(size));
  const double groups_of_wave = std::max(1.0, ctas / tiles_of_group);
  const auto covered_m = tiles / static_cast<double>(divided_up(size.n, kernel.tile_n)) * kernel.tile_m;
  const auto covered_n = static_cast<double>(divided_up(size.n, kernel.tile_n) * kernel.tile_n);
  WaveOfTiles wave{ctas, groups_of_wave * rows_of_wave(mean_group(size), kernel, ctas / groups_of_wave),
                   1 - static_cast<double>(size.rows()) / covered_m, 1 - static_cast<double>(size.n) / covered_n};
  if (!is_own_kernel(kernel)) return wave;
  const RowsOfTiles rows = rows_of_tiles(size, kernel);
  wave.outside_m = rows.outside / rows.loaded;
  wave.loaded_m = rows.loaded / covered_m;
  wave.multiplied_m = most_multiplied(size, kernel, static_cast<int>(ctas));
  wave.loads_ahead = true;
  return wave;
}

TileOfWave tiles_of(const Machine& machine, const GroupedSize& size, const GemmKernel& kernel, DataType dtype,
                    const GemmFactors& factors) {
  const auto rows_of_a = static_cast<double>(size.rows());
  const WaveOfTiles wave = packed(wave_of_tiles(machine, size, kernel), rows_of_a, factors.b_share);
  TileOfWave tiles(machine, size.n, size.k, kernel, dtype, wave);
  tiles.correct_by(factors);
  return tiles;
}

TileTiming time_tile(const Machine& machine, const GroupedSize& size, const GemmKernel& kernel, DataType dtype,
                     double clock_share) {
  return tiles_of(machine, size, kernel, dtype).at(clock_share);
}

double estimated_grouped_gemm_us(const Machine& machine, const GroupedSize& size, const GemmKernel& kernel,
                                 DataType dtype, const GemmFactors& factors) {
  const auto waves = static_cast<double>(divided_up(tile_count(size, kernel), persistent_ctas(machine.gpu, kernel)));
  const TileTiming timing = tiles_of(machine, size, kernel, dtype, factors).at(1);
  return timing.once_us + waves * timing.tile_us / kernel_efficiency(machine, kernel);
}

GemmKernel choose_grouped_kernel(const Machine& machine, const GroupedSize& size, DataType dtype) {
  if (runs_own_kernels(machine) && dtype == DataType::bf16) return own_grouped_kernel(size, machine.gpu.sms());
  const auto without_clusters = [](GemmKernel kernel) {
    kernel.cluster_m = kernel.cluster_n = kernel.split_k = 1;
    kernel.scheduler = TileScheduler::grid;
    return kernel;
  };
  // One group may be so small that its kernel cuts it finely to reach all SMs, which the other groups do as well.
  const MatrixSize mean = mean_group(size);
  const MatrixSize side_by_side{mean.m, mean.n * groups_with_rows(size), mean.k};
  std::array kernels{without_clusters(choose_gemm_kernel(machine, mean, dtype)),
                     without_clusters(choose_gemm_kernel(machine, {size.rows(), size.n, size.k}, dtype)),
                     without_clusters(choose_gemm_kernel(machine, side_by_side, dtype))};
  return *std::ranges::min_element(
      kernels, {}, [&](const GemmKernel& kernel) { return estimated_grouped_gemm_us(machine, size, kernel, dtype); });
}

}  // namespace weft
