#include "models/cost/governor.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace governor_test {

Power power(double delay_ms, double ramp_ms) {
  Power power;
  power.governor_delay_ms = delay_ms;
  power.governor_ramp_ms = ramp_ms;
  return power;
}

// 200 launches of 20 us: three runs of 4 ms.
TEST(GovernorMemory, IsTheDelayAndHalfOfTheRamp) { EXPECT_DOUBLE_EQ(governor_memory_us(power(30, 20)), 40e3); }

TEST(ThrottledShare, ShortRunsEndBeforeTheGovernorActs) { EXPECT_EQ(throttled_share(power(30, 20), 20), 0); }

TEST(ThrottledShare, GovernorWithoutDelaySlowsAllDown) { EXPECT_NEAR(throttled_share(power(0, 1e-9), 1000), 1, 1e-6); }

// Runs of 30 ms: the middle one lasts from 30 to 60 ms, the ramp from 30 to 50: 10 of its 20 ms count.
TEST(ThrottledShare, IsTheMeanOfTheRampOverTheMiddleRun) {
  EXPECT_DOUBLE_EQ(throttled_share(power(30, 20), 1000), (60 - 50 + 20 / 2.0) / 30);
}

}  // namespace governor_test
}  // namespace weft
