#include "models/cost/gemm_model.hpp"

#include <gtest/gtest.h>

#include "models/machine/machine_json.hpp"
#include "tests/source_folder.hpp"

namespace weft {
namespace {

GemmKernel kernel(int tile_m, int tile_n, int split_k = 1) {
  GemmKernel one;
  one.tile_m = tile_m;
  one.tile_n = tile_n;
  one.tile_k = 64;
  one.cluster_m = one.cluster_n = 1;
  one.stages = 4;
  one.split_k = split_k;
  return one;
}

/// What is chosen for 4096 x 4096 x 4096 on a machine of 16 SMs with these answers.
GemmKernel chosen(const std::vector<GemmChoice>& answers) {
  Machine machine = read_machine(tests::source_folder() + "/tests/sim/test_machine.json");
  machine.gemm_candidates.clear();
  machine.gemm_choices = GemmChoices(answers);
  return choose_gemm_kernel(machine, {4096, 4096, 4096});
}

TEST(ChooseGemmKernel, TakesTheLibrarysAnswerForTheShapeWhateverItTakes) {
  const GemmKernel slow = kernel(64, 64, 8);
  EXPECT_EQ(chosen({{4096, 4096, 4096, slow}, {4096, 4096, 2048, kernel(128, 128)}}).split_k, 8);
}

TEST(ChooseGemmKernel, OfEquallyFastKernelsTakesThatOfMoreOrNearerAnswers) {
  const GemmKernel wide = kernel(64, 128), tall = kernel(128, 64);  // as fast: sizes and tiles mirror each other
  EXPECT_EQ(chosen({{4096, 4096, 2048, wide}, {4096, 4096, 1024, tall}}).tile_n, 128);
  EXPECT_EQ(chosen({{4096, 4096, 2048, tall}, {4096, 4096, 1024, wide}}).tile_n, 64);
  EXPECT_EQ(chosen({{4096, 4096, 2048, wide}, {4096, 4096, 2560, tall}, {4096, 4096, 8192, tall}}).tile_n, 64);
}

// Eight slices of k, each of all 16 SMs' time, and their reduction: several times as long.
TEST(ChooseGemmKernel, DoesNotTakeANearAnswersKernelThatIsMuchSlowerHere) {
  EXPECT_EQ(chosen({{4096, 4096, 3072, kernel(16, 16)}, {4096, 4096, 1024, kernel(128, 128)}}).tile_m, 128);
}

TEST(ChooseGemmKernel, HasAKernelWhereTheLibraryWasNeverAsked) { EXPECT_GT(chosen({}).tile_m, 0); }

}  // namespace
}  // namespace weft
