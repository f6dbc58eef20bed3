#include "models/cost/gemm_model.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "models/cost/gemm_kernel_choice.hpp"
#include "tests/models/cost/library_answers.hpp"
#include "tests/models/cost/small_network.hpp"

namespace weft {
namespace gemm_model_test {

using tests::library_kernel;
using tests::machine_with;

/// What is chosen for 4096 x 4096 x 4096 on a machine of 16 SMs with these answers.
GemmKernel chosen(const std::vector<GemmChoice>& answers) {
  return choose_gemm_kernel(machine_with(answers), {4096, 4096, 4096});
}

TEST(ChooseGemmKernel, TakesTheLibrarysAnswerForTheShapeWhateverItTakes) {
  const GemmKernel slow = library_kernel(64, 64, 8);
  EXPECT_EQ(chosen({{4096, 4096, 4096, slow}, {4096, 4096, 2048, library_kernel(128, 128)}}).split_k, 8);
}

TEST(ChooseGemmKernel, OfEquallyFastKernelsTakesThatOfMoreOrNearerAnswers) {
  const GemmKernel wide = library_kernel(64, 128),
                   tall = library_kernel(128, 64);  // as fast: sizes and tiles mirror each other
  EXPECT_EQ(chosen({{3968, 4096, 2048, wide}, {3968, 4096, 1024, tall}}).tile_n, 128);
  EXPECT_EQ(chosen({{3968, 4096, 2048, tall}, {3968, 4096, 1024, wide}}).tile_n, 64);
  EXPECT_EQ(chosen({{3968, 4096, 2048, wide}, {3968, 4096, 2560, tall}, {3968, 4096, 8192, tall}}).tile_n, 64);
}

// Eight slices of k, each of all 16 SMs' time, and their reduction: several times as long.
TEST(ChooseGemmKernel, DoesNotTakeANearAnswersKernelThatIsMuchSlowerHere) {
  EXPECT_EQ(chosen({{3968, 4096, 3072, library_kernel(16, 16)}, {3968, 4096, 1024, library_kernel(128, 128)}}).tile_m,
            128);
}

// With a weight on nothing but the slices, the kernel that has most of them.
TEST(ChooseGemmKernel, TakesTheKernelThatTheWeightsSpeakFor) {
  Machine machine = machine_with({{3968, 4096, 3072, library_kernel(128, 128)},
                                  {3968, 4096, 2048, library_kernel(128, 128)},
                                  {3968, 4096, 1024, library_kernel(64, 64, 8)}});
  EXPECT_EQ(choose_gemm_kernel(machine, {4096, 4096, 4096}).split_k, 1);
  machine.kernel_weights = tests::network_that_passes_on(tests::feature_of_slices);
  EXPECT_EQ(choose_gemm_kernel(machine, {4096, 4096, 4096}).split_k, 8);
}

TEST(ChooseGemmKernel, ANetworkDecidesWhereAnswersForOtherKDoNotAgree) {
  Machine machine = machine_with({});
  machine.kernel_weights = tests::network_that_passes_on(tests::feature_of_slices);
  machine.gemm_choices = {{4096, 4096, 3072, library_kernel(128, 128)},
                          {4096, 4096, 8192, library_kernel(128, 128)},
                          {4096, 3968, 4096, library_kernel(64, 64, 8)}};
  EXPECT_EQ(choose_gemm_kernel(machine, {4096, 4096, 4096}).split_k, 1);
  machine.gemm_choices = {{4096, 4096, 3072, library_kernel(128, 128)},
                          {4096, 4096, 8192, library_kernel(128, 64)},
                          {4096, 3968, 4096, library_kernel(64, 64, 8)}};
  EXPECT_EQ(choose_gemm_kernel(machine, {4096, 4096, 4096}).split_k, 8);
}

TEST(ChooseGemmKernel, TakesTheKernelOfTheNearestKWhereTheSameRowsAndColumnsWereAsked) {
  const GemmKernel small = library_kernel(64, 64), slow = library_kernel(16, 16), other = library_kernel(128, 128);
  EXPECT_EQ(chosen({{4096, 4096, 3072, slow}, {4096, 4096, 8192, slow}, {4096, 3968, 4096, other}}).tile_m, 16);
  EXPECT_EQ(chosen({{4096, 4096, 3072, small}, {4096, 4096, 6144, slow}}).tile_m, 64);
  EXPECT_EQ(chosen({{4096, 4096, 2048, small}, {4096, 4096, 6144, slow}}).tile_m, 16);
}

TEST(ChooseGemmKernel, AsksNoFartherThanTwiceTheKWhereOneSideAloneWasAsked) {
  const GemmKernel slow = library_kernel(16, 16), other = library_kernel(128, 128);
  EXPECT_EQ(chosen({{4096, 4096, 2048, slow}, {4096, 3968, 4096, other}}).tile_m, 16);
  EXPECT_EQ(chosen({{4096, 4096, 1984, slow}, {4096, 3968, 4096, other}}).tile_m, 128);
  EXPECT_EQ(chosen({{4096, 4096, 8192, slow}, {4096, 3968, 4096, other}}).tile_m, 16);
}

/// As `chosen`, for fp8 on a machine whose library has tiles of up to 128 x 256, and half of that for fp8.
GemmKernel chosen_for_fp8(const std::vector<GemmChoice>& answers) {
  Machine machine = machine_with(answers);
  machine.gemm.largest_tile_elements = 128 * 256;
  machine.gemm.fp8_accumulators = 2;
  return choose_gemm_kernel(machine, {4096, 4096, 4096}, DataType::fp8);
}

TEST(ChooseGemmKernel, TakesForFp8TheKernelOfAsManyBytes) {
  const GemmKernel found =
      chosen_for_fp8({{4096, 4096, 4096, library_kernel(64, 64)}, {4096, 4096, 2048, library_kernel(96, 128)}});
  EXPECT_EQ(found.tile_m, 96);
  EXPECT_EQ(found.tile_n, 128);
  EXPECT_EQ(found.tile_k, 128);
  EXPECT_EQ(found.stages, 4);
}

TEST(ChooseGemmKernel, HalvesTheLongerSideForFp8WhereTwiceTheAccumulatorsFindNoRoom) {
  const GemmKernel wide = chosen_for_fp8({{4096, 4096, 2048, library_kernel(128, 200)}});
  EXPECT_EQ(wide.tile_m, 128);
  EXPECT_EQ(wide.tile_n, 104);  // in steps of 8
  const GemmKernel square = chosen_for_fp8({{4096, 4096, 2048, library_kernel(160, 160)}});
  EXPECT_EQ(square.tile_m, 80);
  EXPECT_EQ(square.tile_n, 160);
  // 200,000 bytes of shared memory over (80 + 160) x 128 of a stage.
  EXPECT_EQ(square.stages, 6);
}

TEST(ChooseGemmKernel, LeavesFp8TheTilesOfBf16OnGpusOfOneAccumulator) {
  Machine machine = machine_with({{4096, 4096, 2048, library_kernel(128, 256)}});
  EXPECT_EQ(choose_gemm_kernel(machine, {4096, 4096, 4096}, DataType::fp8).tile_n, 256);
}

TEST(KernelChoices, KeepFp8AndBf16Apart) {
  Machine machine =
      machine_with({{4096, 4096, 2048, library_kernel(128, 256)}, {4096, 4096, 4096, library_kernel(64, 64)}});
  KernelChoices choices(machine);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(choices.of({4096, 4096, 4096}, DataType::bf16).tile_n, 64);
    EXPECT_EQ(choices.of({4096, 4096, 4096}, DataType::fp8).tile_n, 256);
  }
}

TEST(ChooseGemmKernel, HasAKernelWhereTheLibraryWasNeverAsked) { EXPECT_GT(chosen({}).tile_m, 0); }

}  // namespace gemm_model_test
}  // namespace weft
