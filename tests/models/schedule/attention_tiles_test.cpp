#include "models/schedule/attention_tiles.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace attention_tiles_test {

/// Of sequences that all have as many cached keys.
Attention attention(int heads, int kv_heads, int sequences, std::int64_t cached) {
  Attention attention{.heads = heads, .kv_heads = kv_heads, .head_dim = 128, .sequences = sequences};
  if (cached > 0) attention.cached = Slice{.rows = RowRange{0, sequences * cached}};
  return attention;
}

TEST(AttentionTiles, OfManyTokensHoldOneHead) {
  const AttentionTiles tiles = attention_tiles(attention(8, 2, 1, 0), 1000, 132);
  EXPECT_EQ(tiles.heads_of_tile, 1);
  EXPECT_EQ(tiles.tokens_of_tile(), 128);
  EXPECT_EQ(tiles.of_sequence, 8);
  EXPECT_EQ(tiles.count, 64);
  EXPECT_EQ(tiles.splits, 1);
}

TEST(AttentionTiles, OfFewTokensHoldTheHeadsThatShareKeys) {
  const AttentionTiles tiles = attention_tiles(attention(16, 2, 3, 100), 3, 132);
  EXPECT_EQ(tiles.heads_of_tile, 8);
  EXPECT_EQ(tiles.tokens_of_warpgroup, 8);
  EXPECT_EQ(tiles.working_warpgroups, 1);
  EXPECT_EQ(attention_tiles(attention(16, 2, 3, 100), 27, 132).working_warpgroups, 2) << "9 tokens of each";
  EXPECT_EQ(tiles.count, 3 * 2);
  // Heads that do not divide a warpgroup's rows leave some of them empty.
  EXPECT_EQ(attention_tiles(attention(10, 2, 1, 100), 1, 132).tokens_of_warpgroup, 64 / 5);
  // Nothing to share, and no tile saved.
  EXPECT_EQ(attention_tiles(attention(4, 4, 1, 100), 1, 132).heads_of_tile, 1);
  EXPECT_EQ(attention_tiles(attention(8, 1, 1, 100), 128, 132).heads_of_tile, 1);
}

TEST(AttentionTiles, CachedKeysAreSplitWhereSmsHaveNoTile) {
  EXPECT_EQ(attention_tiles(attention(8, 1, 16, 8192), 16, 132).splits, 8) << "9 of 65 tiles each, for 128 SMs";
  EXPECT_EQ(attention_tiles(attention(8, 1, 4, 8192), 4, 132).splits, 33) << "2 of 65 tiles each";
  EXPECT_EQ(attention_tiles(attention(8, 1, 1, 1 << 16), 1, 132).splits, 103) << "5 of 513 tiles each";
  EXPECT_EQ(attention_tiles(attention(8, 1, 1, 1 << 20), 1, 132).splits, 127) << "65 of 8,193 tiles, as of 128 splits";
  EXPECT_EQ(attention_tiles(attention(8, 1, 64, 8192), 64, 132).splits, 2);
  EXPECT_EQ(attention_tiles(attention(8, 1, 128, 8192), 128, 132).splits, 1);
  EXPECT_EQ(attention_tiles(attention(8, 1, 4, 100), 4, 132).splits, 1) << "a merge takes longer than a tile of keys";
  Attention stays = attention(8, 1, 4, 8192);
  stays.max_sms = 100;
  EXPECT_EQ(attention_tiles(stays, 4, 132).splits, 1);
}

TEST(AttentionTiles, ManySplitsAreMergedByThreadsTogether) {
  EXPECT_EQ(merged_in_turn(1), 1);
  EXPECT_EQ(merged_in_turn(16), 16);
  EXPECT_EQ(merged_in_turn(17), 2 + 4);
  EXPECT_EQ(merged_in_turn(128), 8 + 4);
}

TEST(AttentionTiles, CachedKeysAreSplitWhereALastWaveWouldBeNearlyEmpty) {
  const auto splits = [](int sequences) {
    return attention_tiles(attention(8, 1, sequences, 4096), sequences, 132).splits;
  };
  EXPECT_EQ(splits(132), 1);
  EXPECT_EQ(splits(133), 3) << "four waves of a third each";
  EXPECT_EQ(splits(264), 1);
}

TEST(AttentionTiles, SeeCachedKeysAndThoseUpToTheirLastQuery) {
  Attention behind = attention(8, 2, 1, 200);
  behind.prefix = 128;
  EXPECT_EQ(key_tiles(behind, 10), 2 + 2);
  EXPECT_EQ(key_tiles(behind, 300), 4 + 2);
}

TEST(AttentionTiles, LeaveEachSplitATileOfKeys) {
  const Attention one = attention(1, 1, 1, 100);
  EXPECT_EQ(attention_tiles(one, 3000, 132).splits, key_tiles(one, 1));
}

}  // namespace attention_tiles_test
}  // namespace weft
