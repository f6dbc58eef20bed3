#include "calibration/fitting/kernel_weights.hpp"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "calibration/fitting/small_network.hpp"
#include "models/cost/kernel_ranking.hpp"

namespace weft::calibration::fitting {
namespace {

constexpr std::size_t most_shapes = 150000, fewest_shapes = 1000, kept_aside = 10;

/// `chosen` is `rows` where none of them is the kernel that the library took.
Choice choice_of(const Machine& machine, const GemmChoice& answer, SameSides same_sides) {
  const MatrixSize size{answer.m, answer.n, answer.k};
  const std::vector<NearKernel> near = near_kernels(machine, size, same_sides);
  const auto taken = std::ranges::find(near, answer.kernel, &NearKernel::kernel);
  Choice choice{.features = {}, .rows = near.size(), .chosen = static_cast<std::size_t>(taken - near.begin())};
  choice.features.reserve(near.size() * kernel_feature_count);
  for (const KernelFeatures& row : kernel_features(machine, size, near))
    choice.features.insert(choice.features.end(), row.begin(), row.end());
  return choice;
}

/// Half of the shapes forget what the library answered for the same m and n, since of most that will be asked for it
/// has answered none.
std::vector<Choice> choices_of(const Machine& machine) {
  const std::vector<GemmChoice> answers = machine.gemm_choices.answers();
  std::vector<Choice> choices(std::min(answers.size(), most_shapes));
  tbb::parallel_for(std::size_t{0}, choices.size(), [&](std::size_t i) {
    const GemmChoice& answer = answers[i * answers.size() / choices.size()];
    choices[i] = choice_of(machine, answer, i % 2 == 0 ? SameSides::left_out : SameSides::count);
  });
  return choices;
}

bool is_right(const Choice& choice, const NetworkWeights& weights) {
  std::vector<double> scores;
  for (std::size_t row = 0; row < choice.rows; ++row) {
    KernelFeatures features;
    std::copy_n(choice.features.begin() + static_cast<std::ptrdiff_t>(row * kernel_feature_count), features.size(),
                features.begin());
    scores.push_back(kernel_score(weights, features));
  }
  return choice.chosen < choice.rows &&
         std::ranges::max_element(scores) - scores.begin() == static_cast<std::ptrdiff_t>(choice.chosen);
}

}  // namespace

KernelWeights fit_kernel_weights(const Machine& machine) {
  if (machine.gemm_choices.size() < fewest_shapes) return {};
  std::vector<Choice> fitted, aside;
  std::vector<Choice> choices = choices_of(machine);
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const bool is_aside = i / 2 % kept_aside == 0;  // pairs, of which one forgets
    if (is_aside)
      aside.push_back(std::move(choices[i]));
    else if (choices[i].chosen < choices[i].rows)
      fitted.push_back(std::move(choices[i]));
  }
  if (fitted.empty()) return {};
  const NetworkWeights weights = learn_choices(kernel_network, std::move(fitted));
  const auto right = std::ranges::count_if(aside, [&](const Choice& one) { return is_right(one, weights); });
  return {weights, static_cast<double>(right) / static_cast<double>(aside.size()), aside.size()};
}

}  // namespace weft::calibration::fitting
