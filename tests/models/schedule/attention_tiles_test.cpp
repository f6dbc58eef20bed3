#include "models/schedule/attention_tiles.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

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

std::optional<EvenShares> shares_of(int heads, int kv_heads, int sequences, std::int64_t cached, std::int64_t tokens) {
  return even_shares(attention(heads, kv_heads, sequences, cached), sequences * tokens, 132);
}

TEST(EvenShares, AreOfFewQueriesBehindACache) {
  EXPECT_TRUE(shares_of(32, 8, 3, 1000, 4)) << "16 that see the same keys";
  EXPECT_FALSE(shares_of(32, 8, 3, 1000, 5));
  EXPECT_FALSE(shares_of(32, 8, 3, 0, 1));
  Attention behind_its_own = attention(4, 4, 1, 1000);
  behind_its_own.prefix = 15;
  EXPECT_TRUE(even_shares(behind_its_own, 1, 132));
  behind_its_own.prefix = 16;
  EXPECT_FALSE(even_shares(behind_its_own, 1, 132)) << "17 keys of its sequence's own rows";
  EXPECT_FALSE(shares_of(8, 8, 1 << 10, 1 << 21, 1)) << "a terabyte of keys: tiles times CTAs do not fit an int";
}

TEST(EvenShares, HaveEachTileOnce) {
  for (const int ctas : {1, 2, 7, 128, 132})
    for (const int items : {1, 3, 8, 40, 300}) {
      const EvenShares shares{.items = items, .tiles_of_item = 33, .ctas = ctas};
      if (ctas > shares.tiles()) continue;  // each has one
      EXPECT_EQ(shares.begin(0), 0);
      EXPECT_EQ(shares.begin(ctas), shares.tiles());
      int most = 0, most_items = 0, pieces = 0;
      for (int cta = 0; cta < ctas; ++cta) {
        const int begin = shares.begin(cta), end = shares.begin(cta + 1);
        most = std::max(most, end - begin);
        if (begin == end) continue;
        EXPECT_EQ(shares.cta_of(begin), cta);
        EXPECT_EQ(shares.cta_of(end - 1), cta);
        const int items_here = (end - 1) / 33 - begin / 33 + 1;
        most_items = std::max(most_items, items_here);
        pieces += items_here;
      }
      EXPECT_EQ(shares.most_tiles(), most);
      EXPECT_GE(shares.most_items(), most_items);
      EXPECT_LE(shares.most_items(), most_items + 1);
      int most_pieces = 0;
      for (int item = 0; item < items; ++item) most_pieces = std::max(most_pieces, shares.pieces(item));
      EXPECT_GE(shares.most_pieces(), most_pieces);
      EXPECT_LE(shares.most_pieces(), most_pieces + 1);
      int of_items = 0;
      for (int item = 0; item < items; ++item) of_items += shares.pieces(item);
      EXPECT_EQ(of_items, pieces);
      EXPECT_EQ(shares.has_pieces(), pieces > items);
    }
}

TEST(EvenShares, OfAboutAnItemTouchTwo) {
  const EvenShares shares{.items = 133, .tiles_of_item = 4, .ctas = 132};
  EXPECT_EQ(shares.most_items(), 2);
  EXPECT_EQ(shares.most_pieces(), 2);
}

TEST(EvenShares, HaveEqualPiecesWhereTheyGainMoreThanFewerCtasCost) {
  const auto ctas = [](int sequences, std::int64_t cached) { return shares_of(8, 1, sequences, cached, 1)->ctas; };
  EXPECT_EQ(ctas(8, 32768), 128) << "16 of each";
  EXPECT_EQ(ctas(1024, 1000), 128) << "8 items of each CTA";
  EXPECT_EQ(ctas(50, 4000), 100);
  EXPECT_EQ(ctas(50, 16000), 132) << "32 SMs fewer take longer than pieces of two items";
  EXPECT_EQ(ctas(133, 1000), 132) << "19 would be too few";
  EXPECT_EQ(ctas(1, 1000), 4) << "8 tiles, at least 2 of each piece";
  EXPECT_EQ(ctas(5, 384), 5) << "3 tiles, too few for two pieces";
  EXPECT_EQ(ctas(60, 64), 60) << "a tile of each";
}

TEST(EvenShares, StayOnAsManySmsAsTheyMay) {
  Attention few = attention(8, 1, 1, 1 << 16);
  few.max_sms = 20;
  EXPECT_EQ(even_shares(few, 1, 132)->ctas, 20);
}

}  // namespace attention_tiles_test
}  // namespace weft
