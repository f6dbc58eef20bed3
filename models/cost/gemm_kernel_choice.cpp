#include "models/cost/gemm_kernel_choice.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "models/base/division.hpp"
#include "models/cost/gemm_model.hpp"
#include "models/cost/kernel_ranking.hpp"

namespace weft {
namespace {

constexpr int preference = 10;  ///< without weights: a kernel that takes 10 % longer needs 2.6 times the votes

/// More waves than `dynamic_above_waves` are worth a counter to the library.
GemmKernel with_scheduler(GemmKernel kernel, const Machine& machine, const MatrixSize& size) {
  const std::int64_t tiles = tile_count(size, kernel);
  const bool is_dynamic = tiles > std::int64_t{machine.gemm.dynamic_above_waves} * persistent_ctas(machine.gpu, kernel);
  kernel.scheduler = is_dynamic ? TileScheduler::dynamic_persistent : TileScheduler::static_persistent;
  return kernel;
}

GemmKernel fastest_candidate(const Machine& machine, const MatrixSize& size) {
  const auto time_us = [&](const GemmKernel& kernel) { return estimated_gemm_us(machine, size, kernel); };
  return *std::min_element(machine.gemm_candidates.begin(), machine.gemm_candidates.end(),
                           [&](const GemmKernel& a, const GemmKernel& b) { return time_us(a) < time_us(b); });
}

constexpr std::pair<int, int> tiles_without_accelerator[] = {{128, 256}, {256, 128}, {128, 128}, {128, 64}, {64, 64}};
constexpr int slices_without_accelerator[] = {1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32};

/// For rows that the tensor memory accelerator cannot load: the fastest of the tiles, and of the slices along k, that
/// the library was seen to take (calibration/measurements/unaligned-2026-11-29).
GemmKernel fastest_without_accelerator(const Machine& machine, const MatrixSize& size) {
  GemmKernel fastest;
  double fastest_us = std::numeric_limits<double>::infinity();
  for (const auto& [tile_m, tile_n] : tiles_without_accelerator)
    for (const int slices : slices_without_accelerator) {
      const GemmKernel kernel{.tile_m = tile_m, .tile_n = tile_n, .tile_k = 32, .stages = 3, .split_k = slices};
      const double time_us = estimated_gemm_us(machine, size, kernel);
      if (time_us < fastest_us) fastest = kernel, fastest_us = time_us;
    }
  return fastest;
}

/// By the network that learned from the library's answers; without one, a kernel has its votes, and the more the faster
/// it is.
std::vector<double> scores_of(const Machine& machine, const MatrixSize& size, const std::vector<NearKernel>& kernels) {
  std::vector<double> scores;
  if (!machine.kernel_weights.empty()) {
    for (const KernelFeatures& features : kernel_features(machine, size, kernels))
      scores.push_back(kernel_score(machine.kernel_weights, features));
    return scores;
  }
  for (const NearKernel& one : kernels) {
    double score = one.votes[NearKernel::all];
    for (int i = 0; i < preference; ++i) score *= kernels.front().time_us / one.time_us;
    scores.push_back(score);
  }
  return scores;
}

GemmKernel likeliest_kernel(const Machine& machine, const MatrixSize& size) {
  const std::vector<NearKernel> kernels = near_kernels(machine, size);
  if (kernels.empty()) return {};
  const std::vector<double> scores = scores_of(machine, size, kernels);
  return kernels[static_cast<std::size_t>(std::ranges::max_element(scores) - scores.begin())].kernel;
}

/// The library's kernel changes at few k, so that the answers for the same m and n tell it: the nearer one of those for
/// the k below and above, or one that is no farther than a factor of two. Of 20,000 shapes whose m and n were asked
/// with some 19 other k, 99.3 % get the right one on an H200, and as many on an H100.
std::optional<GemmKernel> kernel_of_other_k(const Machine& machine, const MatrixSize& size) {
  constexpr std::int64_t farthest = 2;
  const auto& [below, above] = machine.gemm_choices.around(size);
  if (below && above && below->kernel == above->kernel) return below->kernel;
  if (!machine.kernel_weights.empty()) return {};
  if (below && above) return size.k * size.k < below->k * above->k ? below->kernel : above->kernel;
  if (below && size.k <= farthest * below->k) return below->kernel;
  if (above && above->k <= farthest * size.k) return above->kernel;
  return {};
}

constexpr int unit_of_tiles = 8;

/// Where all accumulators find no room the longer side is halved, and what that leaves of the shared memory goes to
/// more stages.
GemmKernel of_as_many_bytes_in_fp8(GemmKernel kernel, const Machine& machine) {
  kernel.tile_k *= 2;
  const GemmTiming& timing = machine.gemm;
  const int accumulators = timing.accumulators(DataType::fp8) * kernel.tile_m * kernel.tile_n;
  if (timing.largest_tile_elements == 0 || accumulators <= timing.largest_tile_elements) return kernel;
  const int held = ctas_per_sm(machine, kernel, DataType::fp8);
  int& longer = kernel.tile_m >= kernel.tile_n ? kernel.tile_m : kernel.tile_n;
  longer = divided_up(longer, 2 * unit_of_tiles) * unit_of_tiles;
  const auto fits = [&](const GemmKernel& one) {
    return ctas_per_sm(machine, one, DataType::fp8) >= std::max(held, 1);
  };
  for (GemmKernel deeper = kernel; fits(deeper); ++deeper.stages) kernel = deeper;
  return kernel;
}

}  // namespace

GemmKernel choose_gemm_kernel(const Machine& machine, const MatrixSize& size, DataType dtype) {
  const MatrixSize in_bf16{size.m, size.n, dtype == DataType::fp8 ? divided_up(size.k, 2) : size.k};
  const auto of_dtype = [&](const GemmKernel& kernel) {
    return dtype == DataType::fp8 ? of_as_many_bytes_in_fp8(kernel, machine) : kernel;
  };
  if (machine.gemm.even_rows_efficiency > 0 && !has_rows_of_16_bytes(size.n, size.k, dtype))
    return fastest_without_accelerator(machine, size);
  if (!machine.gemm_candidates.empty()) return of_dtype(fastest_candidate(machine, in_bf16));
  std::optional<GemmKernel> kernel = machine.gemm_choices.find(in_bf16);
  if (!kernel) kernel = kernel_of_other_k(machine, in_bf16);
  return with_scheduler(of_dtype(kernel ? *kernel : likeliest_kernel(machine, in_bf16)), machine, size);
}

GemmKernel KernelChoices::of(const MatrixSize& size, DataType dtype) {
  for (const Known& known : known_)
    if (known.size == size && known.dtype == dtype) return known.kernel;
  return known_.emplace_back(Known{size, dtype, choose_gemm_kernel(machine_, size, dtype)}).kernel;
}

}  // namespace weft
