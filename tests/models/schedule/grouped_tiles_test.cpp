#include "models/schedule/grouped_tiles.hpp"

#include <gtest/gtest.h>

#include <set>

#include "models/schedule/own_kernels.hpp"

namespace weft {
namespace grouped_tiles_test {

constexpr std::int64_t n = 600;

GroupedSize uneven_groups() { return {{1, 0, 127, 128, 129, 300, 0, 520}, n, 1000}; }

/// By the rows of c, which has n columns.
std::int64_t group_of(const GroupedSize& size, std::int64_t row) {
  std::int64_t group = 0;
  for (std::int64_t end = size.group_rows[0]; row >= end; end += size.group_rows[static_cast<std::size_t>(group)])
    ++group;
  return group;
}

TEST(GroupedTiles, StoreEveryElementOnceWithTheWeightsOfItsGroup) {
  const GroupedSize size = uneven_groups();
  for (const GemmKernel& kernel : own_kernels) {
    std::set<std::pair<std::int64_t, std::int64_t>> stored;  // rows and first columns of tiles
    for (const GroupedTile& tile : grouped_tiles(size, kernel))
      for (std::int64_t row = tile.row; row < tile.row + tile.rows; ++row) {
        EXPECT_TRUE(stored.insert({row, tile.column}).second);
        EXPECT_EQ(tile.weight_row, group_of(size, row) * n + tile.column);
        EXPECT_TRUE(tile.column < n && tile.column % kernel.tile_n == 0);
      }
    const std::int64_t columns_of_tiles = (n + kernel.tile_n - 1) / kernel.tile_n;
    EXPECT_EQ(static_cast<std::int64_t>(stored.size()), size.rows() * columns_of_tiles);
  }
}

TEST(GroupedTiles, PairsOfAClusterLieOneBelowTheOther) {
  for (const GemmKernel& kernel : own_kernels) {
    if (kernel.cluster_m != 2) continue;
    const std::vector<GroupedTile> tiles = grouped_tiles(uneven_groups(), kernel);
    ASSERT_EQ(tiles.size() % 2, 0U);
    for (std::size_t i = 0; i < tiles.size(); i += 2) {
      EXPECT_EQ(tiles[i + 1].row, tiles[i].row + kernel.tile_m);
      EXPECT_EQ(tiles[i + 1].weight_row, tiles[i].weight_row) << "they share what they load of b";
      EXPECT_GT(tiles[i].rows, 0);
    }
  }
}

GemmKernel kernel_for(std::int64_t groups, std::int64_t rows, std::int64_t columns) {
  return own_grouped_kernel({std::vector<std::int64_t>(static_cast<std::size_t>(groups), rows), columns, 4096}, 132);
}

TEST(OwnGroupedKernel, IsWideAndPairedWhereGroupsAreLarge) {
  EXPECT_EQ(kernel_for(8, 2048, 16384), own_kernel(256, 2, TileScheduler::static_persistent));
}
TEST(OwnGroupedKernel, HasNoPairsWhereHalfOfThemWouldBeIdle) { EXPECT_EQ(kernel_for(128, 64, 1536).cluster_m, 1); }
TEST(OwnGroupedKernel, IsNarrowerWhereWideTilesLeaveTheLastWaveEmpty) {
  // 192 tiles of 256 columns take two waves, and so do 256 of 192.
  EXPECT_EQ(kernel_for(8, 128, 6144), own_kernel(192, 1, TileScheduler::static_persistent));
}

}  // namespace grouped_tiles_test
}  // namespace weft
