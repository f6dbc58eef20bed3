#include "calibration/evidence/contests.hpp"

#include <gmock/gmock.h>

#include "tests/calibration/evidence/comparisons.hpp"

namespace weft::calibration::evidence {
namespace contests_test {

using testing::ElementsAre;

TEST(Contests, AreApartByRunAndWayOfLaunching) {
  scenarios::ScheduleChoice eager = serial;
  eager.launch = Launch::eager;
  EXPECT_EQ(
      contests_of({comparison(pair_workload, serial, 100, 100), comparison(pair_workload, two_chunks, 90, 95)}).size(),
      1u);
  EXPECT_EQ(contests_of({comparison(pair_workload, serial, 100, 100), comparison(pair_workload, eager, 90, 95),
                         comparison(pair_workload, serial, 100, 100, "run 2")})
                .size(),
            3u);
}

TEST(Contests, ComparedWithSerialOfTheDefaultNumberOfCtas) {
  scenarios::ScheduleChoice limited = serial;
  limited.max_ctas = 4;
  const auto contests =
      contests_of({comparison(pair_workload, limited, 150, 150), comparison(pair_workload, serial, 100, 100),
                   comparison(pair_workload, limited, 150, 150)});
  ASSERT_TRUE(contests[0].serial);
  EXPECT_EQ(contests[0].serial->measured.time_us, 100);
  EXPECT_FALSE(contests[0].has_choice());  // nothing overlaps
}

// Faster collectives are schedules of their own, in whatever order they come.
TEST(Contests, ComparedWithSerialByTheLibraryAsItComes) {
  scenarios::ScheduleChoice two_shot = serial, of_windows = serial, unhurried = serial;
  two_shot.collectives = scenarios::Collectives::two_shot;
  of_windows.collectives = scenarios::Collectives::nccl_symmetric;
  unhurried.urgent = false;
  const auto contests =
      contests_of({comparison(pair_workload, two_shot, 80, 80), comparison(pair_workload, unhurried, 100, 100),
                   comparison(pair_workload, two_chunks, 90, 90), comparison(pair_workload, of_windows, 85, 85)});
  ASSERT_TRUE(contests[0].serial);
  EXPECT_EQ(contests[0].serial->measured.time_us, 100);
  EXPECT_EQ(contests[0].schedules.size(), 4u);
}

TEST(Contests, AreWithoutWhatLeavesCommunicationOut) {
  scenarios::ScheduleChoice without = serial;
  without.collectives = scenarios::Collectives::none;
  const auto contests =
      contests_of({comparison(pair_workload, without, 50, 50), comparison(pair_workload, serial, 100, 100)});
  ASSERT_EQ(contests.size(), 1u);
  EXPECT_EQ(contests[0].schedules.size(), 1u);
}

TEST(Speedups, AreThoseOfOverlappedSchedules) {
  const auto speedups = speedups_of(
      contests_of({comparison(pair_workload, serial, 100, 120), comparison(pair_workload, two_chunks, 80, 100)}));
  ASSERT_EQ(speedups.size(), 1u);
  EXPECT_DOUBLE_EQ(speedups[0].measured, 1.25);
  EXPECT_DOUBLE_EQ(speedups[0].predicted, 1.2);
  EXPECT_DOUBLE_EQ(speedups[0].error(), 1.2 / 1.25 - 1);
}

TEST(Speedups, WithoutSerialThereAreNone) {
  EXPECT_TRUE(speedups_of(contests_of({comparison(pair_workload, two_chunks, 80, 100)})).empty());
}

TEST(Speedups, SignsCountOnlyBeyondTheShare) {
  const std::vector<Speedup> speedups{
      {.predicted = 1.01, .measured = 1.1}, {.predicted = 1.01, .measured = 0.9}, {.predicted = 0.9, .measured = 1.03}};
  EXPECT_THAT(right_signs_beyond(0.05, speedups), ElementsAre(1, 0));
  EXPECT_THAT(right_signs_beyond(0.02, speedups), ElementsAre(1, 0, 0));
}

// Four chunks are predicted fastest (85) and take 90; two chunks were fastest with 80; serial took 100.
TEST(Regrets, CompareMeasuredTimes) {
  const auto regrets = regrets_of(
      contests_of({comparison(pair_workload, serial, 100, 100), comparison(pair_workload, two_chunks, 80, 95),
                   comparison(pair_workload, four_chunks, 90, 85)}));
  ASSERT_EQ(regrets.size(), 1u);
  EXPECT_DOUBLE_EQ(regrets[0].of_choice, 90.0 / 80 - 1);
  EXPECT_DOUBLE_EQ(regrets[0].of_serial, 100.0 / 80 - 1);
  EXPECT_FALSE(regrets[0].is_negligible());
}

TEST(Regrets, WithinOnePercentAndTheNoiseAreNegligible) {
  Comparison best = comparison(pair_workload, two_chunks, 95, 105);
  best.measured.repeats_us = {93, 95, 99.75};
  const auto regrets = regrets_of(contests_of({comparison(pair_workload, serial, 100, 100), best}));
  EXPECT_NEAR(regrets[0].of_choice, 0.0526, 1e-4);
  EXPECT_NEAR(regrets[0].noise, 0.0711, 1e-4);
  EXPECT_TRUE(regrets[0].is_negligible());
}

TEST(GemmRatios, PairNeighboursOfOneRun) {
  const std::vector<Comparison> gemms{comparison(gemm_part, serial, 100, 110), comparison(gemm_part, serial, 200, 220),
                                      comparison(gemm_part, serial, 50, 60, "run 2"),
                                      comparison(gemm_part, serial, 100, 121)};
  EXPECT_THAT(gemm_ratio_errors(gemms), ElementsAre(testing::DoubleNear(0, 1e-12), testing::DoubleNear(0.1, 1e-12)));
}

}  // namespace contests_test
}  // namespace weft::calibration::evidence
