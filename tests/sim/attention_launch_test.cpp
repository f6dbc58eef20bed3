#include <gtest/gtest.h>

#include "tests/sim/launched.hpp"

namespace weft::sim {
namespace attention_launch_test {

using namespace launched;

/// Two heads of 64 and one of keys and values, packed in the first columns of c.
Attention attention(int max_sms) {
  return {.qkv = whole(2, 256, 4 * 64),
          .output = whole(0, 256, 2 * 64),
          .heads = 2,
          .kv_heads = 1,
          .head_dim = 64,
          .max_sms = max_sms};
}

TEST(AttentionLaunch, OfOurOwnKernelWaitsLongerForKeysThatComeFromMemory) {
  Machine machine = test_machine();
  const OwnAttentionTile tile{.efficiency = 0.5, .lone_efficiency = 0.25, .start_us = 2, .lone_start_us = 1};
  machine.own_attention = {.heads_of_64 = tile, .heads_of_128 = tile, .cold_keys_us = 0.75, .merge_GBps = 1000};
  const auto setup_us = [&](bool is_cached, double hbm_share) {
    Attention one = attention(0);
    if (is_cached) one.cached = whole(1, 512, 2 * 64);
    Launched launched(1, one, machine);
    launched.bring_from_memory(hbm_share);
    return attention_launch(one, launched.site()).work.setup_us;
  };
  EXPECT_DOUBLE_EQ(setup_us(true, 1) - setup_us(true, 0), 0.75);
  EXPECT_DOUBLE_EQ(setup_us(true, 0.5) - setup_us(true, 0), 0.375);
  EXPECT_EQ(setup_us(false, 1), setup_us(false, 0)) << "without a cache";
}

// 4 tokens of 2 heads behind 512 keys: 4 tiles of these, two in a piece.
TEST(AttentionLaunch, OfFewQueriesReadsItsKeysFasterAndHasItsSharesAsTiles) {
  Machine machine = test_machine();
  machine.own_attention = {.decode = OwnDecodeTimes{.tile_64_us = 10, .hbm_share = 1.25}};
  const auto launch_of = [&](int max_sms) {
    Attention few = attention(max_sms);
    few.qkv = whole(2, 4, 4 * 64), few.output = whole(0, 4, 2 * 64), few.cached = whole(1, 512, 2 * 64);
    Launched one(1, few, machine);
    one.bring_from_memory(1);
    const KernelLaunch launch = attention_launch(few, one.site());
    EXPECT_NEAR(bytes_through(launch, Launched::hbm), one.cost().traffic.hbm_bytes / 1.25, 1);
    EXPECT_EQ(launch.limit, Limit::compute);
    return launch;
  };
  EXPECT_EQ(launch_of(0).work.tiles, 2);
  EXPECT_DOUBLE_EQ(launch_of(0).work.tile_us, 2 * 10);
  EXPECT_EQ(launch_of(1).work.tiles, 1);
  EXPECT_DOUBLE_EQ(launch_of(1).work.tile_us, 4 * 10);
}

// 256 queries are two blocks for each of two heads. As a grid there is room for 32 CTAs, and keys are split; a
// persistent kernel has no use for splits, and the operations of both products in its four tiles.
TEST(AttentionLaunch, OfAPersistentKernelHasATileForEachBlockOfAHead) {
  Launched one(1, attention(8));
  const KernelLaunch persistent = attention_launch(attention(8), one.site());
  EXPECT_EQ(persistent.work.tiles, 4);
  EXPECT_EQ(persistent.work.ctas, 4);
  const Machine& machine = test_machine();
  const double rate = machine.gpu.tensor_flops_per_clock_per_sm * machine.gpu.max_clock_MHz *
                      machine.other_kernels.persistent_attention_efficiency;
  EXPECT_DOUBLE_EQ(4 * persistent.work.tile_us, 4.0 * 256 * 128 * 2 * 64 / rate);
  EXPECT_EQ(attention_launch(attention(0), one.site()).work.tiles, 8);
  EXPECT_EQ(attention_launch(attention(3), one.site()).work.ctas, 3);
}

}  // namespace attention_launch_test
}  // namespace weft::sim
