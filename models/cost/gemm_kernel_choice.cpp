#include "models/cost/gemm_kernel_choice.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <optional>

#include "models/base/division.hpp"
#include "models/cost/gemm_model.hpp"

namespace weft {
namespace {

constexpr std::size_t neighbours = 64;  ///< 86 % of the kernels are among those of so many
constexpr double reach = 0.1;           ///< doublings of m or n within which an answer counts in full
constexpr double unlike = 0.3;          ///< what an answer counts for where m or n is otherwise aligned
constexpr int preference = 10;          ///< without weights: a kernel that takes 10 % longer needs 2.6 times the votes

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

double votes_and_time(const NearKernel& one, const NearKernels& all) {
  double score = one.votes;
  for (int i = 0; i < preference; ++i) score *= all.kernels.front().time_us / one.time_us;
  return score;
}

GemmKernel likeliest_kernel(const Machine& machine, const MatrixSize& size) {
  const NearKernels all = near_kernels(machine, size);
  const auto score_of = [&](const NearKernel& one) {
    if (machine.kernel_weights.empty()) return votes_and_time(one, all);
    const KernelFeatures speaks = kernel_features(machine, size, one, all);
    return std::inner_product(speaks.begin(), speaks.end(), machine.kernel_weights.begin(), 0.0);
  };
  const NearKernel* likeliest = nullptr;
  double most = 0;
  for (const NearKernel& one : all.kernels)
    if (const double score = score_of(one); likeliest == nullptr || score > most) likeliest = &one, most = score;
  return likeliest != nullptr ? likeliest->kernel : GemmKernel{};
}

/// The library's kernel changes at few k, so that the answers for the same m and n tell it: the nearer one of those for
/// the k below and above, or one that is no farther than a factor of two. Of 20,000 shapes whose m and n were asked
/// with some 19 other k, 99.3 % get the right one on an H200, and as many on an H100.
std::optional<GemmKernel> kernel_of_other_k(const Machine& machine, const MatrixSize& size) {
  constexpr std::int64_t farthest = 2;
  const auto& [below, above] = machine.gemm_choices.around(size);
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

NearKernels near_kernels(const Machine& machine, const MatrixSize& size) {
  NearKernels all;
  std::vector<NearKernel>& found = all.kernels;
  for (const GemmChoices::Near& near : machine.gemm_choices.nearest(size, neighbours)) {
    const GemmChoice& choice = near.choice;
    if (choice.m == size.m && choice.n == size.n && choice.k == size.k) continue;
    auto known =
        std::ranges::find_if(found, [&](const NearKernel& candidate) { return candidate.kernel == choice.kernel; });
    if (known == found.end())
      known = found.insert(known, {choice.kernel, 0, estimated_gemm_us(machine, size, choice.kernel)});
    const double closeness = 1 / (1 + near.squared_distance / (reach * reach));
    const auto share = [](std::int64_t a, std::int64_t b) { return alignment_of(a) == alignment_of(b) ? 1 : unlike; };
    known->votes += closeness * closeness * share(choice.m, size.m) * share(choice.n, size.n);
  }
  if (!found.empty()) all.fastest_us = found.front().time_us;
  for (const NearKernel& one : found) {
    all.votes += one.votes;
    all.fastest_us = std::min(all.fastest_us, one.time_us);
  }
  return all;
}

KernelFeatures kernel_features(const Machine& machine, const MatrixSize& size, const NearKernel& one,
                               const NearKernels& all) {
  const GemmKernel& kernel = one.kernel;
  const auto ratio = [](auto a, auto b) { return static_cast<double>(a) / static_cast<double>(b); };
  const std::int64_t along_m = divided_up(size.m, kernel.tile_m), along_n = divided_up(size.n, kernel.tile_n);
  const std::int64_t tiles = tile_count(size, kernel), ctas = persistent_ctas(machine.gpu, kernel);
  const std::int64_t waves = divided_up(tiles, ctas);
  std::array<double, plain_kernel_features> plain{one.votes / all.votes,
                                                  one.time_us / all.fastest_us,
                                                  static_cast<double>(waves),
                                                  ratio(tiles, waves * ctas),
                                                  ratio(size.m, along_m * kernel.tile_m),
                                                  ratio(size.n, along_n * kernel.tile_n),
                                                  ratio(along_m * along_n * kernel.split_k, tiles),
                                                  static_cast<double>(kernel.tile_m * kernel.tile_n),
                                                  ratio(kernel.tile_m, kernel.tile_n),
                                                  static_cast<double>(kernel.cluster_m * kernel.cluster_n),
                                                  static_cast<double>(kernel.cluster_m),
                                                  static_cast<double>(kernel.split_k),
                                                  static_cast<double>(kernel.stages)};
  for (double& value : plain) value = std::log(value);
  KernelFeatures features;
  auto next = std::ranges::copy(plain, features.begin()).out;
  for (std::size_t i = 0; i < plain_kernel_features; ++i)
    for (std::size_t j = i; j < plain_kernel_features; ++j) *next++ = plain[i] * plain[j];
  return features;
}

GemmKernel choose_gemm_kernel(const Machine& machine, const MatrixSize& size, DataType dtype) {
  const MatrixSize in_bf16{size.m, size.n, dtype == DataType::fp8 ? divided_up(size.k, 2) : size.k};
  const auto of_dtype = [&](const GemmKernel& kernel) {
    return dtype == DataType::fp8 ? of_as_many_bytes_in_fp8(kernel, machine) : kernel;
  };
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
