#include "scenarios/parts.hpp"

#include <gtest/gtest.h>

namespace weft::scenarios {
namespace parts_test {

TEST(Parts, OfAPairAreItsWholeGemmAndTheCollectiveOfItsResult) {
  const Parts parts = *parts_of(PairWorkload{PairOp::gemm_reduce_scatter, 1024, 512, 256});
  EXPECT_EQ(parts.gemm, (GemmWorkload{1024, 512, 256}));
  EXPECT_EQ(parts.collective, (CollectiveWorkload{CollectiveKind::reduce_scatter, 1024 * 512 * 2}));
}

TEST(Parts, ACollectiveThatComesFirstMovesTheInputOfTheGemm) {
  EXPECT_EQ(parts_of(PairWorkload{PairOp::all_gather_gemm, 1024, 512, 256})->collective,
            (CollectiveWorkload{CollectiveKind::all_gather, 1024 * 256 * 2}));
  EXPECT_EQ(parts_of(PairWorkload{PairOp::all_to_all_gemm, 1024, 512, 256, DataType::fp8})->collective,
            (CollectiveWorkload{CollectiveKind::all_to_all, 1024 * 256}));
}

TEST(Parts, OfAConcurrentPairHaveItsBytes) {
  EXPECT_EQ(parts_of(ConcurrentPair{1024, 512, 256, 4096})->collective,
            (CollectiveWorkload{CollectiveKind::all_reduce, 4096}));
}

TEST(Parts, OfAWorkloadThatIsNoPairAreNone) { EXPECT_FALSE(parts_of(GemmWorkload{1, 1, 1})); }

}  // namespace parts_test
}  // namespace weft::scenarios
