#include "models/base/statistics.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace statistics_test {

TEST(Median, IsTheMiddleOfTheSortedValues) { EXPECT_EQ(median({9, 1, 5}), 5); }

TEST(Median, OfAnEvenNumberIsTheUpperOfTheTwoInTheMiddle) { EXPECT_EQ(median({4, 1, 3, 2}), 3); }

TEST(Median, OfOneValueIsThatValue) { EXPECT_EQ(median({7}), 7); }

TEST(Median, OfNothingIsAnError) { EXPECT_THROW(median({}), std::invalid_argument); }

TEST(Quantile, IsLinearBetweenTheSortedValues) {
  EXPECT_EQ(quantile({30, 10, 20}, 0), 10);
  EXPECT_EQ(quantile({30, 10, 20}, 0.5), 20);
  EXPECT_EQ(quantile({30, 10, 20}, 0.75), 25);
  EXPECT_EQ(quantile({30, 10, 20}, 1), 30);
  EXPECT_EQ(quantile({7}, 0.3), 7);
}

TEST(RelativeSpread, IsTheRangeOverTheMedian) { EXPECT_DOUBLE_EQ(relative_spread({98, 100, 104}), (104 - 98) / 100.0); }

TEST(RelativeSpread, OfEqualValuesIsZero) { EXPECT_EQ(relative_spread({5, 5, 5}), 0); }

}  // namespace statistics_test
}  // namespace weft
