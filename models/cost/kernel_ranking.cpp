#include "models/cost/kernel_ranking.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "models/base/division.hpp"
#include "models/cost/gemm_model.hpp"
#include "models/cost/network_output.hpp"

namespace weft {
namespace {

constexpr std::size_t neighbours = 512;  ///< 96 % of the kernels are among those of so many
constexpr double reach = 0.1;            ///< doublings of m or n within which an answer counts in full
constexpr double short_reach = 0.02;     ///< likewise, where hardly any but the nearest count
constexpr double reach_in_k = 0.1;       ///< doublings of k, of answers for the same m and n
constexpr double unlike = 0.3;           ///< what an answer counts for where m or n is otherwise aligned
constexpr double hardly_any = 1e-4;      ///< share of the votes below which it does not matter how few they are
constexpr int instruction_rows = 64;     ///< of a tile, on either side, which tensor cores take at once

double closeness(double squared_distance, double within) { return 1 / (1 + squared_distance / (within * within)); }

std::array<double, NearKernel::kinds> votes_of(const GemmChoices::Near& near, const MatrixSize& size) {
  const auto& [choice, distance] = near;
  const bool like_m = alignment_of(choice.m) == alignment_of(size.m);
  const bool like_n = alignment_of(choice.n) == alignment_of(size.n);
  const double within_reach = closeness(distance, reach), nearest = closeness(distance, short_reach);
  const double full = within_reach * within_reach;
  std::array<double, NearKernel::kinds> votes{};
  votes[NearKernel::all] = full * (like_m ? 1 : unlike) * (like_n ? 1 : unlike);
  votes[NearKernel::far] = within_reach;
  if (like_m && like_n) votes[NearKernel::aligned] = full, votes[NearKernel::near_and_aligned] = nearest * nearest;
  if (like_m && choice.n == size.n) votes[NearKernel::same_n] = full;
  if (like_n && choice.m == size.m) votes[NearKernel::same_m] = full;
  if (choice.m != size.m || choice.n != size.n) return votes;
  const double doublings = std::log2(static_cast<double>(choice.k) / static_cast<double>(size.k));
  votes[NearKernel::same_sides] = closeness(doublings * doublings, reach_in_k);
  if (alignment_of(choice.k) == alignment_of(size.k))
    votes[NearKernel::same_sides_aligned_k] = votes[NearKernel::same_sides];
  return votes;
}

void make_shares(std::vector<NearKernel>& kernels) {
  for (std::size_t kind = 0; kind < NearKernel::kinds; ++kind) {
    double sum = 0;
    for (const NearKernel& one : kernels) sum += one.votes[kind];
    if (sum > 0)
      for (NearKernel& one : kernels) one.votes[kind] /= sum;
  }
}

/// How a kernel's tiles lie in a matrix.
struct Tiling {
  double along_m, along_n;  // tiles
  double tiles;             // of whole clusters and all slices of k
  double ctas, waves;
  double steps;  // along k, of a CTA
};

Tiling tiling_of(const Machine& machine, const MatrixSize& size, const GemmKernel& kernel) {
  const auto tiles = static_cast<double>(tile_count(size, kernel));
  const auto ctas = static_cast<double>(persistent_ctas(machine.gpu, kernel));
  return {static_cast<double>(divided_up(size.m, kernel.tile_m)),
          static_cast<double>(divided_up(size.n, kernel.tile_n)),
          tiles,
          ctas,
          std::ceil(tiles / ctas),
          static_cast<double>(divided_up(size.k, std::int64_t{kernel.tile_k} * kernel.split_k))};
}

/// Rows and columns that a CTA loads at each step, since CTAs of a cluster share them.
double loaded_rows(const GemmKernel& kernel) {
  return static_cast<double>(kernel.tile_m) / kernel.cluster_n + static_cast<double>(kernel.tile_n) / kernel.cluster_m;
}

constexpr std::size_t kinds_of_work = 5;

/// What it costs to take a kernel, in several ways to count it.
std::array<double, kinds_of_work> work_of(const GemmKernel& kernel, const Tiling& tiling) {
  const double rows = kernel.tile_m + kernel.tile_n, area = static_cast<double>(kernel.tile_m) * kernel.tile_n;
  return {tiling.waves * tiling.steps * area, tiling.waves * tiling.steps * loaded_rows(kernel),
          tiling.waves * tiling.steps * rows, tiling.along_m * tiling.along_n * rows,
          tiling.along_m * tiling.along_n * area};
}

/// Which side of a tile is whole instructions: both, or that along m (-1) or n (1) alone.
double side_of_instructions(const GemmKernel& kernel) {
  return static_cast<double>(kernel.tile_n % instruction_rows == 0) -
         static_cast<double>(kernel.tile_m % instruction_rows == 0);
}

}  // namespace

std::vector<NearKernel> near_kernels(const Machine& machine, const MatrixSize& size, SameSides same_sides) {
  std::vector<NearKernel> found;
  for (const GemmChoices::Near& near : machine.gemm_choices.nearest(size, neighbours)) {
    const GemmChoice& choice = near.choice;
    const bool has_same_sides = choice.m == size.m && choice.n == size.n;
    if (has_same_sides && (choice.k == size.k || same_sides == SameSides::left_out)) continue;
    auto known = std::ranges::find(found, choice.kernel, &NearKernel::kernel);
    if (known == found.end())
      known = found.insert(known, {choice.kernel, {}, estimated_gemm_us(machine, size, choice.kernel)});
    const auto votes = votes_of(near, size);
    for (std::size_t kind = 0; kind < votes.size(); ++kind) known->votes[kind] += votes[kind];
  }
  make_shares(found);
  return found;
}

std::vector<KernelFeatures> kernel_features(const Machine& machine, const MatrixSize& size,
                                            const std::vector<NearKernel>& kernels) {
  std::vector<Tiling> tilings;
  double fastest_us = std::numeric_limits<double>::infinity();
  std::array<double, kinds_of_work> least;
  least.fill(fastest_us);
  for (const NearKernel& one : kernels) {
    tilings.push_back(tiling_of(machine, size, one.kernel));
    fastest_us = std::min(fastest_us, one.time_us);
    const auto work = work_of(one.kernel, tilings.back());
    std::ranges::transform(least, work, least.begin(), std::ranges::min);
  }
  std::vector<KernelFeatures> features(kernels.size());
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const auto& [kernel, votes, time_us] = kernels[i];
    const Tiling& tiling = tilings[i];
    auto next = features[i].begin();
    const auto put = [&](double value) { *next++ = value; };
    const auto put_log = [&](auto value, auto over) {
      put(std::log(static_cast<double>(value) / static_cast<double>(over)));
    };
    for (const double share : votes) put_log(hardly_any + share, 1);
    put_log(time_us, fastest_us);
    put_log(tiling.along_m, 1);
    put_log(tiling.along_n, 1);
    put_log(size.m, tiling.along_m * kernel.tile_m);
    put_log(size.n, tiling.along_n * kernel.tile_n);
    put_log(tiling.along_m * tiling.along_n * kernel.split_k, tiling.tiles);
    put_log(tiling.waves, 1);
    put_log(tiling.tiles, tiling.waves * tiling.ctas);
    put_log(tiling.steps, 1);
    for (const int of_kernel : {kernel.tile_m, kernel.tile_n, kernel.cluster_m, kernel.cluster_n, kernel.split_k})
      put_log(of_kernel, 1);
    put_log(loaded_rows(kernel), 1);
    put(side_of_instructions(kernel));
    for (const std::int64_t side : {size.m, size.n, size.k}) put_log(side, 1), put_log(alignment_of(side), 1);
    const auto work = work_of(kernel, tiling);
    for (std::size_t kind = 0; kind < work.size(); ++kind) put_log(work[kind], least[kind]);
  }
  return features;
}

double kernel_score(const NetworkWeights& weights, const KernelFeatures& features) {
  return network_output<kernel_network>(weights, features);
}

}  // namespace weft
