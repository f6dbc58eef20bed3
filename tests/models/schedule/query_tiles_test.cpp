#include "models/schedule/query_tiles.hpp"

#include <gmock/gmock.h>

#include <algorithm>

namespace weft {
namespace query_tiles_test {

using testing::ElementsAre;

constexpr int tile_queries = 128, tile_keys = 128;

std::vector<QueryTile> tiles_of(const std::vector<AttentionPart>& parts, std::int64_t queries) {
  return query_tiles(parts, queries, tile_queries, tile_keys);
}

TEST(QueryTiles, OfACausalPartSeeMoreKeysTheLaterTheyAre) {
  EXPECT_THAT(tiles_of({{0, 300, 0, 300, AttentionMask::causal}}, 300),
              ElementsAre(QueryTile{256, 44, 1, 3}, QueryTile{128, 128, 1, 2}, QueryTile{0, 128, 1, 1}));
}

TEST(QueryTiles, EndWhereTheirPartsDo) {
  // The own part of a causal rank: two chunks of 100 rows, the second of which sees both.
  EXPECT_THAT(tiles_of({{0, 100, 0, 100, AttentionMask::causal},
                        {100, 100, 0, 100, AttentionMask::full},
                        {100, 100, 100, 100, AttentionMask::causal}},
                       200),
              ElementsAre(QueryTile{100, 100, 0b110, 2}, QueryTile{0, 100, 0b001, 1}));
}

TEST(QueryTiles, WithoutKeysAreThereToo) {
  EXPECT_THAT(tiles_of({{100, 50, 0, 1000}}, 200),
              ElementsAre(QueryTile{100, 50, 1, 8}, QueryTile{0, 100, 0, 0}, QueryTile{150, 50, 0, 0}));
}

TEST(QueryTiles, HoldEveryQueryOnce) {
  const std::vector<AttentionPart> parts{{0, 700, 0, 30}, {350, 350, 30, 400}, {17, 400, 500, 129}};
  std::vector<QueryTile> tiles = tiles_of(parts, 1000);
  std::ranges::sort(tiles, {}, &QueryTile::first_query);
  std::int32_t next = 0;
  for (const QueryTile& tile : tiles) {
    EXPECT_EQ(tile.first_query, next);
    EXPECT_LE(tile.queries, tile_queries);
    next += tile.queries;
  }
  EXPECT_EQ(next, 1000);
}

TEST(QueryTiles, AreSummedAsTheyAreCut) {
  const std::vector<AttentionPart> parts{
      {0, 700, 0, 30}, {350, 350, 30, 400, AttentionMask::causal}, {17, 400, 500, 129}};
  std::int64_t key_tiles = 0, with_keys = 0;
  std::int32_t fewest = 1000;
  for (const QueryTile& tile : tiles_of(parts, 1000)) {
    if (tile.key_tiles == 0) continue;
    ++with_keys;
    key_tiles += tile.key_tiles;
    fewest = std::min(fewest, tile.key_tiles);
  }
  EXPECT_LT(with_keys, static_cast<std::int64_t>(tiles_of(parts, 1000).size())) << "those that see no keys";
  const QueryTileSums sums = sum_of_query_tiles(parts, 1000, tile_queries, tile_keys);
  EXPECT_EQ(sums.tiles, with_keys);
  EXPECT_EQ(sums.key_tiles, key_tiles);
  EXPECT_EQ(sums.fewest, fewest);
}

}  // namespace query_tiles_test
}  // namespace weft
