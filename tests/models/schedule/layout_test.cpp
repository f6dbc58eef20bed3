#include "models/schedule/layout.hpp"

#include <gtest/gtest.h>

#include <set>

namespace weft {
namespace layout_test {

Layout layout_of(LayoutKind kind, std::int64_t rows, std::int64_t columns, std::int64_t tile_rows,
                 std::int64_t tile_columns, int swizzle, std::vector<std::int64_t> group_tiles = {}) {
  return {kind, rows, columns, tile_rows, tile_columns, {swizzle}, std::move(group_tiles)};
}

TEST(TileOrder, swizzle_1_walks_row_after_row) {
  const TileGrid grid{3, 4};
  for (std::int64_t i = 0; i < grid.tiles(); ++i) EXPECT_EQ(tile_at({1}, grid, i), (Tile{i / 4, i % 4}));
}

TEST(TileOrder, a_swizzle_of_all_rows_or_more_walks_column_after_column) {
  const TileGrid grid{3, 4};
  for (const int swizzle : {3, 5, 1 << 30})
    for (std::int64_t i = 0; i < grid.tiles(); ++i) EXPECT_EQ(tile_at({swizzle}, grid, i), (Tile{i % 3, i / 3}));
}

TEST(TileOrder, a_band_is_walked_column_by_column) {
  const TileGrid grid{4, 3};
  const std::vector<Tile> first_band{{0, 0}, {1, 0}, {0, 1}, {1, 1}, {0, 2}, {1, 2}};
  for (std::size_t i = 0; i < first_band.size(); ++i) {
    const auto index = static_cast<std::int64_t>(i);
    EXPECT_EQ(tile_at({2}, grid, index), first_band[i]);
    EXPECT_EQ(tile_at({2}, grid, index + 6), (Tile{first_band[i].row + 2, first_band[i].column}));
  }
}

TEST(TileOrder, the_last_band_may_have_fewer_rows) {
  const TileGrid grid{5, 3};  // bands of 2, 2 and 1 rows: tile 12 starts the last one
  EXPECT_EQ(tile_at({2}, grid, 12), (Tile{4, 0}));
  EXPECT_EQ(tile_at({2}, grid, 14), (Tile{4, 2}));
}

TEST(TileOrder, index_of_is_the_inverse_of_tile_at) {
  for (const TileGrid& grid : {TileGrid{1, 1}, TileGrid{5, 3}, TileGrid{4, 7}})
    for (const int swizzle : {1, 2, 3, 8})
      for (std::int64_t i = 0; i < grid.tiles(); ++i)
        EXPECT_EQ(index_of({swizzle}, grid, tile_at({swizzle}, grid, i)), i);
}

TEST(TileRectangles, every_range_is_covered_exactly_by_at_most_five) {
  for (const TileGrid& grid : {TileGrid{1, 4}, TileGrid{5, 3}, TileGrid{7, 4}})
    for (const int swizzle : {1, 2, 3, 9})
      for (std::int64_t first = 0; first < grid.tiles(); ++first)
        for (std::int64_t count = 1; first + count <= grid.tiles(); ++count) {
          const auto rectangles = tile_rectangles({swizzle}, grid, first, count);
          EXPECT_LE(rectangles.size(), 5u);
          std::multiset<std::int64_t> covered, expected;
          for (const TileRectangle& rectangle : rectangles)
            for (std::int64_t row = 0; row < rectangle.rows; ++row)
              for (std::int64_t column = 0; column < rectangle.columns; ++column)
                covered.insert(index_of({swizzle}, grid, {rectangle.first_row + row, rectangle.first_column + column}));
          for (std::int64_t i = 0; i < count; ++i) expected.insert(first + i);
          ASSERT_EQ(covered, expected) << grid.rows << " x " << grid.columns << ", swizzle " << swizzle << ", from "
                                       << first << ", " << count;
        }
}

TEST(TileRectangles, all_tiles_are_one_rectangle_where_bands_are_equal) {
  EXPECT_EQ(tile_rectangles({2}, {4, 3}, 0, 12), (std::vector<TileRectangle>{{0, 4, 0, 3}}));
}

TEST(Layout, row_major_storage_is_the_matrix) { EXPECT_EQ(storage_of({}, 4, {3, 5}), (Element{3, 5})); }

TEST(Layout, tile_ordered_puts_tile_t_at_row_t_times_tile_rows) {
  const Layout layout = layout_of(LayoutKind::tile_ordered, 8, 6, 4, 2, 1);  // 2 x 3 tiles, row after row
  // Element (5, 3): tile row 1, tile column 1 = tile 4; row 1, column 1 inside it.
  EXPECT_EQ(storage_of(layout, 2, {5, 3}), (Element{4 * 4 + 1, 1}));
}

TEST(Layout, sub_tile_ordered_puts_the_rows_of_each_destination_side_by_side) {
  // 2 x 2 tiles of 4 rows in one group of 3 tiles and one of 1; 2 ranks: sub-tiles of 2 rows.
  const Layout layout = layout_of(LayoutKind::sub_tile_ordered, 8, 4, 4, 2, 1, {3, 1});
  EXPECT_EQ(storage_of(layout, 2, {0, 0}), (Element{0, 0}));   // tile 0, destination 0
  EXPECT_EQ(storage_of(layout, 2, {0, 2}), (Element{2, 0}));   // tile 1, destination 0
  EXPECT_EQ(storage_of(layout, 2, {5, 1}), (Element{5, 1}));   // tile 2, destination 0
  EXPECT_EQ(storage_of(layout, 2, {2, 0}), (Element{6, 0}));   // tile 0, destination 1
  EXPECT_EQ(storage_of(layout, 2, {7, 1}), (Element{11, 1}));  // tile 2, destination 1, second row
  EXPECT_EQ(storage_of(layout, 2, {4, 2}), (Element{12, 0}));  // tile 3 is the second group
  EXPECT_EQ(storage_of(layout, 2, {7, 3}), (Element{15, 1}));
}

TEST(Layout, per_destination_gives_the_rows_of_a_tile_to_the_ranks_in_turn) {
  // The same tiles and groups: rows 0 and 2 of a tile go to rank 0, rows 1 and 3 to rank 1.
  const Layout layout = layout_of(LayoutKind::per_destination, 8, 4, 4, 2, 1, {3, 1});
  EXPECT_EQ(storage_of(layout, 2, {0, 0}), (Element{0, 0}));   // tile 0, destination 0
  EXPECT_EQ(storage_of(layout, 2, {2, 1}), (Element{1, 1}));   // its second row there
  EXPECT_EQ(storage_of(layout, 2, {0, 2}), (Element{2, 0}));   // tile 1, destination 0
  EXPECT_EQ(storage_of(layout, 2, {1, 0}), (Element{6, 0}));   // tile 0, destination 1
  EXPECT_EQ(storage_of(layout, 2, {7, 1}), (Element{11, 1}));  // tile 2, destination 1, second row
  EXPECT_EQ(storage_of(layout, 2, {4, 2}), (Element{12, 0}));  // tile 3 is the second group
}

TEST(Layout, no_two_elements_have_the_same_place) {
  const std::vector<Layout> layouts{layout_of(LayoutKind::tile_ordered, 20, 6, 4, 2, 2),
                                    layout_of(LayoutKind::sub_tile_ordered, 20, 6, 4, 2, 2, {4, 5, 6}),
                                    layout_of(LayoutKind::sub_tile_ordered, 20, 6, 4, 2, 3, {1, 14}),
                                    layout_of(LayoutKind::per_destination, 20, 6, 4, 2, 3, {4, 5, 6})};
  for (const Layout& layout : layouts) {
    std::set<std::pair<std::int64_t, std::int64_t>> used;
    for (std::int64_t row = 0; row < layout.rows; ++row)
      for (std::int64_t column = 0; column < layout.columns; ++column) {
        const Element storage = storage_of(layout, 4, {row, column});
        EXPECT_LT(storage.row, tile_grid(layout).tiles() * layout.tile_rows);
        EXPECT_LT(storage.column, layout.tile_columns);
        EXPECT_TRUE(used.insert({storage.row, storage.column}).second);
      }
  }
}

}  // namespace layout_test
}  // namespace weft
