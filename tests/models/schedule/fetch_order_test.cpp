#include "models/schedule/fetch_order.hpp"

#include <gtest/gtest.h>

#include "models/schedule/layout.hpp"

namespace weft {
namespace fetch_order_test {

constexpr int ctas = 132, element_bytes = 2;
constexpr GemmKernel kernel = own_kernel(192, 2, TileScheduler::stream_k);

FetchOrder order_of(const MatrixSize& size) {
  return fetch_order(size, DataType::bf16, own_order, tile_grid(kernel, size), ctas);
}

TEST(FetchOrder, CutsRowsEvenly) {
  const FetchOrder of_one_unit = order_of({1024, 1536, 1024});
  EXPECT_EQ(of_one_unit.unit_bytes, largest_fetch_unit);
  EXPECT_EQ(of_one_unit.chunks, 1);
  const FetchOrder little_more = order_of({1024, 1536, 1152});  // 2,304 bytes, and not 2,048 and 256
  EXPECT_EQ(little_more.unit_bytes, 1152);
  EXPECT_EQ(little_more.chunk_bytes, 1152);
  EXPECT_EQ(little_more.chunks, 2);
}

TEST(FetchOrder, BringsEachByteOnce) {
  for (const std::int64_t k : {64, 1024, 1152, 1984, 9152, 13504})
    for (const std::int64_t m : {128, 1000, 2304}) {
      const FetchOrder order = order_of({m, 1536, k});
      EXPECT_EQ(order.row_bytes, k * element_bytes);
      EXPECT_GE(order.chunks * order.chunk_bytes, order.row_bytes);
      EXPECT_LT((order.chunks - 1) * order.chunk_bytes, order.row_bytes) << k;
      EXPECT_GE(order.bands * order.band_rows, m);
      EXPECT_LT((order.bands - 1) * order.band_rows, m) << m;
      EXPECT_EQ(order.chunk_bytes, order.chunk_steps * own_tile_k * element_bytes);
      EXPECT_LE(order.unit_bytes, largest_fetch_unit);
    }
}

// 8 columns of tiles: 16 rows of them run at once. 64: fewer than one band of the tiles' order.
TEST(FetchOrder, BringsTogetherTheRowsOfTilesThatRunTogether) {
  EXPECT_EQ(order_of({4096, 8 * 192, 1024}).band_rows, 16 * own_tile_m);
  EXPECT_EQ(order_of({4096, 64 * 192, 1024}).band_rows, own_order.swizzle * own_tile_m);
  EXPECT_EQ(order_of({640, 8 * 192, 1024}).band_rows, 640);
}

TEST(FetchOrder, HasLongerChunksOfFewRows) {
  EXPECT_EQ(order_of({1024, 64 * 192, 8192}).chunk_bytes, largest_fetch_unit);
  EXPECT_EQ(order_of({256, 64 * 192, 8192}).chunk_bytes, 4 * largest_fetch_unit);
}

}  // namespace fetch_order_test
}  // namespace weft
