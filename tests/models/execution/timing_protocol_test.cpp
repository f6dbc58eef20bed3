#include "models/execution/timing_protocol.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace timing_protocol_test {

TEST(LaunchesFor, FillTheTargetTime) { EXPECT_EQ(launches_for(30'000, 1'000), 30); }

TEST(LaunchesFor, AreAtLeastThreeAndAtMostTwoHundred) {
  EXPECT_EQ(launches_for(30'000, 50'000), 3);
  EXPECT_EQ(launches_for(30'000, 2), 200);
  EXPECT_EQ(launches_for(30'000, 0), 200);
}

}  // namespace timing_protocol_test
}  // namespace weft
