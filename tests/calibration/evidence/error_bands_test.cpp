#include "calibration/evidence/error_bands.hpp"

#include <gtest/gtest.h>

namespace weft::calibration::evidence {
namespace error_bands_test {

/// `count` GEMMs that are predicted to take `predicted_us`, and take longer by 0 to `largest_error` of it.
void add(std::vector<Comparison>& comparisons, int count, double predicted_us, double largest_error, int gpus = 1) {
  for (int i = 0; i < count; ++i) {
    Comparison& one = comparisons.emplace_back();
    one.measured.request.gpus = gpus;
    one.measured.request.workload = scenarios::GemmWorkload{1, 1, 1};
    one.measured.time_us = predicted_us * (1 + largest_error * i / (count - 1));
    one.predicted_us = predicted_us;
  }
}

TEST(ErrorBands, HoldWhatLiesBetween5And95PercentOfTheErrors) {
  std::vector<Comparison> comparisons;
  add(comparisons, 101, 500, 1);
  const std::vector<FoundErrors> found = error_bands(comparisons);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].cases, std::vector<std::size_t>{101});
  const ErrorBand& band = found[0].errors.bands.at(0);
  EXPECT_EQ(band.from_us, 0);
  EXPECT_EQ(band.low, -0.02);           // no band is narrower
  EXPECT_NEAR(band.high, 0.959, 1e-9);  // 0.95 x 102 is the rank of what 5 % of further errors exceed
}

TEST(ErrorBands, OfAFewErrorsReachToTheLargest) {
  std::vector<Comparison> comparisons;
  add(comparisons, 10, 500, 1);
  EXPECT_NEAR(error_bands(comparisons).at(0).errors.bands.at(0).high, 1, 1e-9);
}

TEST(ErrorBands, OfTheConditionsStandApart) {
  std::vector<Comparison> comparisons;
  add(comparisons, 10, 500, 1);
  for (Comparison& one : comparisons) one.measured.condition = Condition::sustained;
  add(comparisons, 10, 500, 0.5);
  const std::vector<FoundErrors> found = error_bands(comparisons);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].errors.condition, Condition::sustained);
  EXPECT_NEAR(found[0].errors.bands.at(0).high, 1, 1e-9);
  EXPECT_EQ(found[1].errors.condition, Condition::after_pause);
  EXPECT_NEAR(found[1].errors.bands.at(0).high, 0.5, 1e-9);
}

TEST(ErrorBands, AreJoinedUntilTheyHaveEnoughCases) {
  std::vector<Comparison> comparisons;
  add(comparisons, 25, 20, 1);
  add(comparisons, 12, 50, 0.5);
  add(comparisons, 13, 200, 0.5);
  add(comparisons, 25, 400, 0.25);
  const FoundErrors found = error_bands(comparisons).at(0);
  EXPECT_EQ(found.cases, (std::vector<std::size_t>{25, 25, 25}));
  const std::vector<double> from_us{0, 30, 300};
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(found.errors.bands.at(i).from_us, from_us[i]);
}

TEST(ErrorBands, LeaveNoClassBehindThatIsTooSmall) {
  std::vector<Comparison> comparisons;
  add(comparisons, 24, 20, 1);
  add(comparisons, 25, 400, 0.25);
  EXPECT_EQ(error_bands(comparisons).at(0).errors.bands.size(), 1u);
}

// Errors of four GPUs are twice those of two, so that those of eight are taken for four times as large.
TEST(ErrorBands, GrowWithTheGpusAsErrorsOfFourToThoseOfTwo) {
  std::vector<Comparison> comparisons;
  add(comparisons, 99, 500, 0.4, 2);
  add(comparisons, 99, 500, 0.8, 4);
  const ErrorBands errors = error_bands(comparisons).at(0).errors;
  EXPECT_NEAR(errors.growth, 2, 1e-9);
  ASSERT_EQ(errors.bands.size(), 1u);
  EXPECT_NEAR(errors.bands[0].high, 0.38, 0.01);  // of two GPUs
  EXPECT_NEAR(errors.widening(8), 4, 1e-9);
}

TEST(ErrorBands, GrowAsThoseOfOtherMachinesWhereTwoGpusAreAllThatWasMeasured) {
  std::vector<Comparison> two, few_of_four;
  add(two, 99, 500, 0.4, 2);
  few_of_four = two;
  add(few_of_four, 10, 500, 0.8, 4);
  const double usual = error_bands(two).at(0).errors.growth;
  EXPECT_GT(usual, 1);
  EXPECT_EQ(error_bands(few_of_four).at(0).errors.growth, usual);
}

TEST(ErrorBands, DoNotShrinkWithMoreGpus) {
  std::vector<Comparison> comparisons;
  add(comparisons, 99, 500, 0.8, 2);
  add(comparisons, 99, 500, 0.4, 4);
  EXPECT_EQ(error_bands(comparisons).at(0).errors.growth, 1);
}

}  // namespace error_bands_test
}  // namespace weft::calibration::evidence
