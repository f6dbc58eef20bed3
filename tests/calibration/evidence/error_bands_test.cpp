#include "calibration/evidence/error_bands.hpp"

#include <gtest/gtest.h>

namespace weft::calibration::evidence {
namespace error_bands_test {

/// `count` GEMMs that are predicted to take `predicted_us`, and take longer by 0 to `largest_error` of it.
void add(std::vector<Comparison>& comparisons, int count, double predicted_us, double largest_error) {
  for (int i = 0; i < count; ++i) {
    Comparison& one = comparisons.emplace_back();
    one.measured.request.gpus = 1;
    one.measured.request.workload = scenarios::GemmWorkload{1, 1, 1};
    one.measured.time_us = predicted_us * (1 + largest_error * i / (count - 1));
    one.predicted_us = predicted_us;
  }
}

TEST(ErrorBands, HoldWhatLiesBetween5And95PercentOfTheErrors) {
  std::vector<Comparison> comparisons;
  add(comparisons, 101, 500, 1);
  const std::vector<FoundBand> bands = error_bands(comparisons);
  ASSERT_EQ(bands.size(), 1u);
  EXPECT_EQ(bands[0].cases, 101u);
  EXPECT_EQ(bands[0].band.from_us, 0);
  EXPECT_EQ(bands[0].band.low, -0.02);           // no band is narrower
  EXPECT_NEAR(bands[0].band.high, 0.959, 1e-9);  // 0.95 x 102 is the rank of what 5 % of further errors exceed
}

TEST(ErrorBands, OfAFewErrorsReachToTheLargest) {
  std::vector<Comparison> comparisons;
  add(comparisons, 10, 500, 1);
  EXPECT_NEAR(error_bands(comparisons).front().band.high, 1, 1e-9);
}

TEST(ErrorBands, OfTheConditionsStandApart) {
  std::vector<Comparison> comparisons;
  add(comparisons, 10, 500, 1);
  for (Comparison& one : comparisons) one.measured.condition = Condition::sustained;
  add(comparisons, 10, 500, 0.5);
  const std::vector<FoundBand> bands = error_bands(comparisons);
  ASSERT_EQ(bands.size(), 2u);
  EXPECT_EQ(bands[0].band.condition, Condition::sustained);
  EXPECT_NEAR(bands[0].band.high, 1, 1e-9);
  EXPECT_EQ(bands[1].band.condition, Condition::after_pause);
  EXPECT_NEAR(bands[1].band.high, 0.5, 1e-9);
}

TEST(ErrorBands, AreJoinedUntilTheyHaveEnoughCases) {
  std::vector<Comparison> comparisons;
  add(comparisons, 60, 20, 1);
  add(comparisons, 30, 50, 0.5);
  add(comparisons, 30, 200, 0.5);
  add(comparisons, 60, 400, 0.25);
  const std::vector<FoundBand> bands = error_bands(comparisons);
  ASSERT_EQ(bands.size(), 3u);
  const std::vector<double> from_us{300, 30, 0};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(bands[i].band.from_us, from_us[i]);
    EXPECT_EQ(bands[i].cases, 60u);
  }
}

TEST(ErrorBands, LeaveNoClassBehindThatIsTooSmall) {
  std::vector<Comparison> comparisons;
  add(comparisons, 59, 20, 1);
  add(comparisons, 60, 400, 0.25);
  ASSERT_EQ(error_bands(comparisons).size(), 1u);
}

}  // namespace error_bands_test
}  // namespace weft::calibration::evidence
