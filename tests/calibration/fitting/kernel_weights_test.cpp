#include "calibration/fitting/kernel_weights.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "models/cost/gemm_kernel_choice.hpp"
#include "models/machine/gemm_networks.hpp"
#include "models/machine/machine_json.hpp"
#include "tests/source_folder.hpp"

namespace weft::calibration::fitting {
namespace kernel_weights_test {

Machine machine_of(const std::vector<GemmChoice>& answers) {
  Machine machine = read_machine(tests::source_folder() + "/tests/sim/test_machine.json");
  machine.gemm_candidates.clear();
  machine.gemm_choices = GemmChoices(answers);
  return machine;
}

/// A library that takes the one of two kernels that covers the matrix with less waste along m, whatever its neighbours
/// get.
std::vector<GemmChoice> answers_of_a_library_that_wastes_no_rows(int count) {
  std::mt19937 random(1);
  std::vector<GemmChoice> answers;
  const auto waste = [](std::int64_t m, int tile) { return (m + tile - 1) / tile * tile - m; };
  for (int i = 0; i < count; ++i) {
    const std::int64_t m = 64 + static_cast<std::int64_t>(random() % 4000);
    const std::int64_t n = 512 * (1 + static_cast<std::int64_t>(random() % 16));
    const GemmKernel wide{.tile_m = 96, .tile_n = 128}, tall{.tile_m = 128, .tile_n = 128};
    answers.push_back({m, n, 4096, waste(m, 96) < waste(m, 128) ? wide : tall});
  }
  return answers;
}

TEST(KernelWeights, FindWhatTheLibraryGoesBy) {
  Machine machine = machine_of(answers_of_a_library_that_wastes_no_rows(3000));
  const KernelWeights found = fit_kernel_weights(machine);
  ASSERT_EQ(found.weights.size(), weight_count(kernel_network));
  EXPECT_GT(found.right, 0.9);  // by votes and time alone a good half
  machine.kernel_weights = found.weights;
  EXPECT_EQ(choose_gemm_kernel(machine, {2 * 96, 2048, 4096}).tile_m, 96);
  EXPECT_EQ(choose_gemm_kernel(machine, {5 * 128, 2048, 4096}).tile_m, 128);
}

TEST(KernelWeights, AreNoneOfTooFewAnswers) {
  EXPECT_TRUE(fit_kernel_weights(machine_of(answers_of_a_library_that_wastes_no_rows(100))).weights.empty());
}

TEST(KernelWeights, AreTheSameEveryTime) {
  const Machine machine = machine_of(answers_of_a_library_that_wastes_no_rows(1500));
  EXPECT_EQ(fit_kernel_weights(machine).weights, fit_kernel_weights(machine).weights);
}

}  // namespace kernel_weights_test
}  // namespace weft::calibration::fitting
