#include "calibration/evidence/dice.hpp"

#include <gmock/gmock.h>

#include <algorithm>

namespace weft::calibration::evidence {
namespace dice_test {

// The standard fixes the generator; these two fix our seeding and arithmetic.
TEST(Dice, SameSeedGivesTheStoredNumbers) {
  Dice dice(20261121, 4);
  EXPECT_EQ(dice.below(1000), 638u);
  EXPECT_EQ(dice.log_uniform(16, 32768), 224.35576968922848);
}

TEST(Dice, StreamsOfOneSeedDiffer) {
  Dice one(7, 2), other(7, 4);
  EXPECT_NE(one.below(1u << 31), other.below(1u << 31));
}

TEST(Dice, LogUniformSpendsEqualSharesOnEqualQuotients) {
  Dice dice(1, 0);
  constexpr int draws = 8000;
  int shares[3] = {};  // [1, 10), [10, 100), [100, 1000)
  for (int i = 0; i < draws; ++i) {
    const double value = dice.log_uniform(1, 1000);
    ASSERT_GE(value, 1);
    ASSERT_LT(value, 1000);
    ++shares[value < 10 ? 0 : value < 100 ? 1 : 2];
  }
  // Four standard deviations of a binomial count: 4 sqrt(8000 x 1/3 x 2/3) = 169.
  for (const int share : shares) EXPECT_NEAR(share, draws / 3.0, 169);
}

TEST(Dice, ShuffleKeepsWhatItOrders) {
  Dice dice(3, 0);
  std::vector<int> values{1, 2, 3, 4, 5, 6, 7, 8};
  const std::vector<int> before = values;
  dice.shuffle(values);
  EXPECT_NE(values, before);
  EXPECT_THAT(values, testing::UnorderedElementsAreArray(before));
}

}  // namespace dice_test
}  // namespace weft::calibration::evidence
