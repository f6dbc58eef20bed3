#include "sim/skew.hpp"

#include <gtest/gtest.h>

#include <set>

namespace weft::sim {
namespace skew_test {

TEST(Lateness, LiesBetweenTheEarliestAndTheLatestAndDiffersByRank) {
  for (int occasion = 0; occasion < 20; ++occasion) {
    std::set<double> places;
    for (int rank = 0; rank < 8; ++rank) {
      const double place = lateness(rank, occasion);
      EXPECT_GE(place, 0);
      EXPECT_LT(place, 1);
      places.insert(place);
    }
    EXPECT_EQ(places.size(), 8u);
  }
}

}  // namespace skew_test
}  // namespace weft::sim
