#include "calibration/evidence/calibration_input.hpp"

#include <gtest/gtest.h>

#include "models/schedule/own_kernels.hpp"

namespace weft::calibration::evidence {
namespace calibration_input_test {

KernelRecord collective(int gpu, double start_us, double end_us) {
  return {"all_to_all", {"ncclDevKernel_SendRecv", {32, 1, 1}, {}, {4, 1, 1}, 96, 0, 0}, gpu, "s0", 0, start_us,
          end_us};
}

// The first GPU's kernel waits 5 us for the second's, which it has to outlast.
TEST(CalibrationInput, ACollectiveLastsFromItsLastStartToItsLastEnd) {
  MeasuredCase measured;
  measured.request = {"a", 2, scenarios::CollectiveWorkload{CollectiveKind::all_to_all, 4 << 20}, {}, {}};
  measured.time_us = 40;
  measured.kernels = {collective(0, 0, 35), collective(1, 5, 30)};
  const CalibrationInput input = calibration_input({{"measured.jsonl", {measured}}});
  ASSERT_EQ(input.collectives.size(), 1u);
  EXPECT_EQ(input.collectives[0].kernel_us, 30);
  EXPECT_EQ(input.collectives[0].time_us, 40);
}

// "limited_2gpu.jsonl" asked for the same collective twice now and then.
TEST(CalibrationInput, CasesThatDifferOnlyInTheirIdCountOnce) {
  MeasuredCase first;
  first.request = {"a", 2, scenarios::CollectiveWorkload{CollectiveKind::all_to_all, 4 << 20}, {}, {}};
  first.time_us = 40;
  MeasuredCase second = first;
  second.request.id = "b";
  second.time_us = 41;
  second.kernels = {collective(0, 0, 35)};
  const CalibrationInput input = calibration_input({{"measured.jsonl", {first, second}}});
  ASSERT_EQ(input.collectives.size(), 1u);
  EXPECT_EQ(input.collectives[0].time_us, 40);
  EXPECT_EQ(input.collectives[0].kernel_us, 35);
}

MeasuredCase sustained_gemm(scenarios::GemmSource source) {
  MeasuredCase measured;
  measured.request = {"a", 1, scenarios::GemmWorkload{4096, 4096, 4096}, {scenarios::Serial{source}}, {}};
  measured.time_us = 250;
  measured.condition = Condition::sustained;
  measured.sm_clock_MHz = 1500, measured.conditions.max_sm_clock_MHz = 2000;
  measured.power_W = 700;
  return measured;
}

TEST(CalibrationInput, GemmsOfOurOwnKernelsAreNoneOfTheLibrarys) {
  const CalibrationInput input = calibration_input(
      {{"gemm.jsonl",
        {sustained_gemm(scenarios::GemmSource::library), sustained_gemm(scenarios::GemmSource::own_256_pairs)}}});
  EXPECT_EQ(input.gemms.size(), 1u);
  ASSERT_EQ(input.own_gemms.size(), 1u);
  EXPECT_EQ(input.own_gemms[0].own_kernel, own_kernels[0]);
  EXPECT_EQ(input.own_gemms[0].reading->clock_share, 0.75);
  EXPECT_EQ(input.own_gemms[0].reading->power_W, 700);
}

// The driver's clock after a short run may be that of another load; the mean of the runs themselves tells cycles.
TEST(CalibrationInput, AShortRunWithItsOwnClocksTellsCycles) {
  MeasuredCase gemm = sustained_gemm(scenarios::GemmSource::library);
  gemm.condition = Condition::after_pause;
  gemm.repeats_us = {10, 12}, gemm.repeat_clocks_MHz = {990, 1485};
  gemm.conditions.max_sm_clock_MHz = 1980;
  const CalibrationInput input = calibration_input({{"gemm.jsonl", {gemm}}});
  ASSERT_TRUE(input.gemms.at(0).reading);
  EXPECT_EQ(input.gemms[0].time_us, 11);
  EXPECT_EQ(input.gemms[0].reading->clock_share, 0.625);
  EXPECT_EQ(input.gemms[0].reading->power_W, 0);
  EXPECT_EQ(input.gemms[0].condition, Condition::after_pause);
}

TEST(CalibrationInput, ThePowerOfAMixIsNotThatOfItsCases) {
  MeasuredCase library = sustained_gemm(scenarios::GemmSource::library),
               own = sustained_gemm(scenarios::GemmSource::own_256_pairs);
  library.in_turn_with = own.in_turn_with = "a";
  const CalibrationInput input = calibration_input({{"gemm.jsonl", {library, own}}});
  ASSERT_TRUE(input.gemms.at(0).reading);
  EXPECT_EQ(input.gemms[0].reading->power_W, 0);
  EXPECT_EQ(input.own_gemms.at(0).reading->power_W, 0);
}

}  // namespace calibration_input_test
}  // namespace weft::calibration::evidence
