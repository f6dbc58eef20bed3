#include "sim/meaning/integer_kernels.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace weft::sim::meaning {
namespace integer_kernels_test {

TEST(IntegerKernels, NormDividesByTheRootMeanSquare) {
  IntegerMatrix row(1, 4);
  row.values = {3, -3, 3, 3};
  EXPECT_EQ(rms_norm(row).values, (std::vector<std::int64_t>{16, -16, 16, 16}));
}

TEST(IntegerKernels, WeightedSumAddsTheBlocksOfARow) {
  IntegerMatrix blocks(4, 1), weights(2, 2);
  blocks.values = {1, 2, 10, 20};
  weights.values = {1, 2, 3, 4};
  EXPECT_EQ(sum_of_blocks(blocks, 2, &weights).values, (std::vector<std::int64_t>{21, 86}));
}

TEST(IntegerKernels, AttentionSeesEarlierRowsAlone) {
  const Attention attention{.qkv = {}, .output = {}, .heads = 1, .kv_heads = 1, .head_dim = 1, .prefix = 0};
  IntegerMatrix qkv(2, 3);
  qkv.values = {1, 2, 5, 3, 1, 7};  // q k v
  EXPECT_EQ(attended(qkv, attention).values, (std::vector<std::int64_t>{2 * 5, 6 * 5 + 3 * 7}));
  qkv.row(1)[1] = undefined;
  EXPECT_EQ(attended(qkv, attention).values, (std::vector<std::int64_t>{10, undefined}));
}

}  // namespace integer_kernels_test
}  // namespace weft::sim::meaning
