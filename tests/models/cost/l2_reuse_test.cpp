#include "models/cost/l2_reuse.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace l2_reuse_test {

TEST(L2MissShare, GrowsLinearlyFromWhatIsKeptToWhatIsLost) {
  Gpu gpu;
  gpu.l2_bytes = 30;
  gpu.l2_lost_bytes = 50;
  EXPECT_EQ(l2_miss_share(gpu, 10), 0);
  EXPECT_EQ(l2_miss_share(gpu, 30), 0);
  EXPECT_DOUBLE_EQ(l2_miss_share(gpu, 45), 0.75);
  EXPECT_EQ(l2_miss_share(gpu, 50), 1);
  EXPECT_EQ(l2_miss_share(gpu, 500), 1);
}

}  // namespace l2_reuse_test
}  // namespace weft
