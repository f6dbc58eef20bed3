#include "models/base/statistics.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(Median, IsTheMiddleOfTheSortedValues) { EXPECT_EQ(median({9, 1, 5}), 5); }

TEST(Median, OfAnEvenNumberIsTheUpperOfTheTwoInTheMiddle) { EXPECT_EQ(median({4, 1, 3, 2}), 3); }

TEST(Median, OfOneValueIsThatValue) { EXPECT_EQ(median({7}), 7); }

TEST(Median, OfNothingIsAnError) { EXPECT_THROW(median({}), std::invalid_argument); }

TEST(RelativeSpread, IsTheRangeOverTheMedian) { EXPECT_DOUBLE_EQ(relative_spread({98, 100, 104}), (104 - 98) / 100.0); }

TEST(RelativeSpread, OfEqualValuesIsZero) { EXPECT_EQ(relative_spread({5, 5, 5}), 0); }

}  // namespace
}  // namespace weft
