#include "sim/sm_layout.hpp"

#include <gmock/gmock.h>

#include "tests/sim/test_machine.hpp"

namespace weft::sim {
namespace sm_layout_test {

using ::testing::ElementsAre;

constexpr CtaShape whole_sm{1024, 1, 1}, half_sm{512, 1, 1};

TEST(SmLayout, CapacityIsWhatAnEmptyGpuHolds) {
  const SmLayout layout(test_gpu(2, 4));
  EXPECT_EQ(layout.capacity(whole_sm, 1), 8);
  EXPECT_EQ(layout.capacity(half_sm, 1), 16);
  EXPECT_EQ(layout.capacity({2000, 1, 1}, 1), 0);
  EXPECT_EQ(layout.capacity(whole_sm, 3), 6);  // one cluster of 3 in each GPC of 4
  EXPECT_EQ(layout.capacity(whole_sm, 5), 0);
}

TEST(SmLayout, EachResourceLimitsOccupancy) {
  const SmLayout layout(test_gpu(2, 4));
  EXPECT_EQ(layout.capacity({300, 1, 1}, 1), 8 * 3);
  EXPECT_EQ(layout.capacity({1, 300, 1}, 1), 8 * 3);
  EXPECT_EQ(layout.capacity({1, 1, 300}, 1), 8 * 3);
  EXPECT_EQ(layout.capacity({1, 1, 1}, 1), 8 * 8);  // slots
}

TEST(SmLayout, ARoundGivesEachGpcAClusterInTurn) {
  SmLayout layout(test_gpu(2, 4));
  EXPECT_THAT(layout.round_of(1), ElementsAre(0, 4, 1, 5, 2, 6, 3, 7));
  EXPECT_THAT(layout.round_of(2), ElementsAre(0, 1, 4, 5, 2, 3, 6, 7));
  EXPECT_THAT(layout.round_of(3), ElementsAre(0, 1, 2, 4, 5, 6));
  EXPECT_THAT(layout.round_of(5), ElementsAre());
}

TEST(SmLayout, ARoundBeginsWithSmsThatAreAPairByThemselves) {
  Gpu gpu = test_gpu(1, 4);
  gpu.gpc_sms = {4, 4, 2, 2};
  SmLayout layout(gpu);
  EXPECT_THAT(layout.round_of(1), ElementsAre(8, 10, 9, 11, 0, 4, 1, 5, 2, 6, 3, 7));
  EXPECT_THAT(layout.round_of(2), ElementsAre(8, 9, 10, 11, 0, 1, 4, 5, 2, 3, 6, 7));
  EXPECT_THAT(layout.round_of(4), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

}  // namespace sm_layout_test
}  // namespace weft::sim
