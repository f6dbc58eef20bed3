#include "models/cost/measured_gemms.hpp"

#include <algorithm>
#include <cmath>

#include "models/base/division.hpp"
#include "models/cost/l2_reuse.hpp"
#include "models/cost/network_output.hpp"
#include "models/schedule/own_kernels.hpp"

namespace weft {
namespace {

/// So much of what was measured holds for a GEMM of the tables' kernels between others. Measured ones were repeated
/// alone, with what they leave in the L2 themselves; pairs under load on two and four GPUs are met best with 0.5 to
/// 0.7, GEMMs alone with 0.65 to 1. For others, which the formulas meet less well, it makes no difference there, so
/// that all of it holds.
constexpr double holds = 0.65;
/// Hardly any measured GEMM is farther off.
constexpr double largest_factor = 1.5, largest_untabled_factor = 3;
constexpr double most_doublings = 6;  ///< between two times beyond which the shorter one does not matter
constexpr double hardly_any_time_us = 0.01;

double logarithm(auto value) { return std::log2(static_cast<double>(value)); }

double logarithm_of_ratio(double time_us, double over_us) {
  return std::clamp(std::log2((time_us + hardly_any_time_us) / (over_us + hardly_any_time_us)), -most_doublings,
                    most_doublings);
}

/// Share of so many tiles that is filled.
double fill(std::int64_t elements, std::int64_t tiles, std::int64_t of_tile) {
  return logarithm(elements) - logarithm(tiles * of_tile);
}

double within(double largest, double logarithm) { return std::clamp(std::exp(logarithm), 1 / largest, largest); }

}  // namespace

GemmFeatures gemm_features(const Machine& machine, const MatrixSize& size, const GemmKernel& kernel, DataType dtype,
                           const TileOfWave& tile) {
  const WaveOfTiles& wave = tile.wave();
  const std::int64_t along_m = divided_up(size.m, kernel.tile_m), along_n = divided_up(size.n, kernel.tile_n);
  const std::int64_t tiles = tile_count(size, kernel), ctas = persistent_ctas(machine.gpu, kernel);
  const std::int64_t waves = divided_up(tiles, ctas), of_slices = std::int64_t{kernel.tile_k} * kernel.split_k;
  const std::int64_t steps = divided_up(size.k, of_slices);
  const auto m = static_cast<double>(size.m), n = static_cast<double>(size.n), k = static_cast<double>(size.k);
  const double bytes = (m * k + n * k + m * n) * static_cast<double>(bytes_of(dtype));
  const TileTiming timing = tile.at(1);
  const StepTiming step = tile.step();
  const double tiles_us = static_cast<double>(waves) * timing.tile_us;
  const double stream_us = hbm_bytes_of_repeated(machine.gpu, size, dtype) / bytes_per_us(machine.gpu.hbm_GBps);

  GemmFeatures features{};
  auto next = features.begin();
  const auto put = [&](double value) { *next++ = value; };
  for (const std::int64_t side : {size.m, size.n, size.k}) put(logarithm(side)), put(logarithm(alignment_of(side)));
  for (const int of_kernel : {kernel.tile_m, kernel.tile_n, kernel.cluster_m, kernel.cluster_n, kernel.stages,
                              kernel.split_k, kernel.tile_m * kernel.tile_n})
    put(logarithm(of_kernel));
  put(logarithm(static_cast<double>(kernel.tile_m) / kernel.cluster_n +
                static_cast<double>(kernel.tile_n) / kernel.cluster_m));
  put(logarithm(along_m)), put(fill(size.m, along_m, kernel.tile_m)), put(wave.outside_m);
  put(logarithm(along_n)), put(fill(size.n, along_n, kernel.tile_n)), put(wave.outside_n);
  put(logarithm(steps)), put(fill(size.k, steps, of_slices));
  put(logarithm(waves)), put(fill(tiles, waves, ctas)), put(logarithm(tiles));
  put(logarithm(wave.rows)), put(logarithm(bytes));
  put(logarithm(timing.tile_us / static_cast<double>(steps)));
  for (const double part_us : {step.tensor_us, step.latency_us, step.l2_us}) put(logarithm_of_ratio(part_us, step.us));
  put(logarithm(tiles_us)), put(timing.once_us), put(logarithm_of_ratio(tiles_us, stream_us));
  put(kernel.scheduler == TileScheduler::dynamic_persistent ? 1 : 0);
  put(is_cooperative(machine.gemm, kernel, dtype) ? 1 : 0);
  return features;
}

UntabledFeatures untabled_features(const Machine& machine, const MatrixSize& size, const GemmKernel& kernel,
                                   const TileOfWave& tile) {
  const std::int64_t tiles = tile_count(size, kernel), ctas = persistent_ctas(machine.gpu, kernel);
  const std::int64_t slices = tiles % ctas > 0 ? last_wave_slices(kernel, size.k, tiles, ctas) : 1;
  UntabledFeatures features{};
  auto next = std::ranges::copy(gemm_features(machine, size, kernel, DataType::bf16, tile), features.begin()).out;
  *next++ = is_own_kernel(kernel) ? 1 : 0;
  *next++ = kernel.scheduler == TileScheduler::grid ? 1 : 0;
  *next++ = logarithm(slices);
  *next++ = logarithm(std::min({alignment_of(size.n), alignment_of(size.k), elements_of_16_bytes}));
  return features;
}

bool is_untabled(const MatrixSize& size, const GemmKernel& kernel, DataType dtype) {
  return dtype == DataType::fp8 || is_own_kernel(kernel) || !has_rows_of_16_bytes(size.n, size.k, dtype);
}

namespace {

GemmFactors factors_of(const Machine& machine, const MatrixSize& size, const GemmKernel& kernel, DataType dtype,
                       const TileOfWave& by_formula) {
  const auto& [of_time, of_energy, of_untabled, of_fp8] = machine.gemm_networks;
  const auto features = [&] { return gemm_features(machine, size, kernel, dtype, by_formula); };
  if (dtype == DataType::fp8)
    return of_fp8.empty()
               ? GemmFactors{}
               : GemmFactors{.time = within(largest_untabled_factor, network_output<fp8_network>(of_fp8, features()))};
  if (dtype != DataType::bf16) return {};
  if (is_untabled(size, kernel, dtype)) {
    if (of_untabled.empty()) return {};
    const UntabledFeatures told = untabled_features(machine, size, kernel, by_formula);
    return {.time = within(largest_untabled_factor, network_output<untabled_network>(of_untabled, told))};
  }
  if (of_time.empty() && of_energy.empty()) return {};
  const GemmFeatures told = features();
  return {within(largest_factor, holds * network_output<time_network>(of_time, told)),
          within(largest_factor, holds * network_output<energy_network>(of_energy, told))};
}

}  // namespace

GemmFactors measured_factors(const Machine& machine, const MatrixSize& size, const GemmKernel& kernel, DataType dtype) {
  return factors_of(machine, size, kernel, dtype, tiles_of(machine, size, kernel, dtype, {}));
}

KnownGemm KnownGemms::of(const MatrixSize& size, const GemmKernel& kernel, DataType dtype) {
  for (const Entry& one : entries_)
    if (one.size == size && one.kernel == kernel && one.dtype == dtype) return one.gemm;
  const TileOfWave by_formula = tiles_of(machine_, size, kernel, dtype, {});
  const KnownGemm gemm{factors_of(machine_, size, kernel, dtype, by_formula),
                       estimated_gemm_us(machine_, size, kernel, by_formula)};
  return entries_.emplace_back(Entry{size, kernel, dtype, gemm}).gemm;
}

}  // namespace weft
