#include "calibration/device/head_sets.hpp"

#include <gtest/gtest.h>

#include <set>
#include <utility>

namespace weft::calibration::device {
namespace head_sets_test {

TEST(HeadSets, AreAllHeadsWhereTheirKeysFitTheL2) { EXPECT_EQ(head_sets(32, 8, 4096, 128).of_set, 32); }

TEST(HeadSets, KeepHeadsTogetherThatShareKeys) {
  EXPECT_EQ(head_sets(32, 8, 16384, 128).of_set, 3 * 4);  // 8 MB of keys and values each
  EXPECT_EQ(head_sets(32, 8, 1 << 20, 128).of_set, 4);
  EXPECT_EQ(head_sets(40, 40, 16384, 128).of_set, 3) << "14 sets of at most 3";
  EXPECT_EQ(head_sets(32, 32, 3328, 128).of_set, 11) << "3 sets, not two of 14 and one of 4";
}

TEST(HeadSets, GoThroughEveryTileOfEveryHeadOnce) {
  constexpr int tiles = 7;
  const HeadSets sets{.heads = 10, .of_set = 4};
  std::set<std::pair<int, int>> seen;
  int last_tile = 0, last_set = 0;
  for (int number = 0; number < tiles * sets.heads; ++number) {
    const HeadSets::Place place = sets.at(number, tiles);
    ASSERT_LT(place.tile, tiles);
    ASSERT_LT(place.head, sets.heads);
    EXPECT_TRUE(seen.emplace(place.tile, place.head).second);
    const int set = place.head / sets.of_set;
    EXPECT_TRUE(set > last_set || (set == last_set && place.tile >= last_tile)) << number;
    last_set = set, last_tile = place.tile;
  }
}

}  // namespace head_sets_test
}  // namespace weft::calibration::device
