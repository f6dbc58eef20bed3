#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scenarios/program_text.hpp"

namespace weft::scenarios::families {
namespace decomposition_test {

using testing::ElementsAre;

TEST(Decomposition, EachReductionWaitsForTheGemmOfItsChunk) {
  const Schedule schedule = build_case(PairWorkload{PairOp::gemm_all_reduce, 64, 32, 16}, 4, Decomposition{2});
  EXPECT_THAT(program_of(schedule), ElementsAre("s0: gemm 0", "s1: all_reduce 0 after gemm 0",  //
                                                "s0: gemm 1", "s1: all_reduce 1 after gemm 1"));
}

TEST(Decomposition, EachGemmWaitsForTheGatherOfItsChunk) {
  const Schedule schedule = build_case(PairWorkload{PairOp::all_gather_gemm, 64, 32, 16}, 4, Decomposition{2});
  EXPECT_THAT(program_of(schedule), ElementsAre("s1: all_gather 0", "s0: gemm 0 after all_gather 0",  //
                                                "s1: all_gather 1", "s0: gemm 1 after all_gather 1"));
}

TEST(Decomposition, NcclHasAStreamOfTheHighestPriority) {
  const Schedule schedule = build_case(PairWorkload{PairOp::gemm_all_reduce, 64, 32, 16}, 4, Decomposition{2});
  EXPECT_THAT(schedule.streams, ElementsAre(Stream{"s0", 0}, Stream{"s1", -5}));
}

TEST(Decomposition, ReduceScatterOfAChunkFillsAChunkOfTheOwnRows) {
  const Schedule schedule = build_case(PairWorkload{PairOp::gemm_reduce_scatter, 64, 32, 16}, 4, Decomposition{2});
  EXPECT_EQ(operands_of(schedule.operations[2], schedule), "a[32:64, 0:16] x b[0:32, 0:16] -> c[32:64, 0:32]");
  EXPECT_EQ(operands_of(schedule.operations[3], schedule), "c[32:64, 0:32] -> result[8:16, 0:32]");
}

TEST(Decomposition, EachRankGivesItsPartOfEveryChunkToAGather) {
  const Schedule schedule = build_case(PairWorkload{PairOp::all_gather_gemm, 64, 32, 16}, 4, Decomposition{2});
  EXPECT_EQ(operands_of(schedule.operations[2], schedule), "shard[8:16, 0:16] -> a[32:64, 0:16]");
  EXPECT_EQ(operands_of(schedule.operations[3], schedule), "a[32:64, 0:16] x b[0:32, 0:16] -> c[32:64, 0:32]");
}

TEST(Decomposition, ExchangeOfAChunkStaysInTheChunk) {
  const Schedule schedule = build_case(PairWorkload{PairOp::gemm_all_to_all, 64, 32, 16}, 4, Decomposition{2});
  EXPECT_EQ(operands_of(schedule.operations[3], schedule), "c[32:64, 0:32] -> result[32:64, 0:32]");
}

TEST(Decomposition, ImbalanceLeavesEveryRankWholeChunks) {
  // 64 x 1.1 = 70.4, rounded up to a multiple of 4 x 2; 184 are left.
  const Schedule schedule =
      build_case(PairWorkload{PairOp::gemm_all_to_all, 64, 32, 16, DataType::bf16, 1.1}, 4, Decomposition{2});
  EXPECT_THAT(schedule.meaning->rows_of_rank, ElementsAre(72, 64, 64, 56));
}

TEST(Decomposition, MeaningSaysHowManyChunksOwnershipIsCutInto) {
  const Schedule schedule = build_case(PairWorkload{PairOp::gemm_reduce_scatter, 64, 32, 16}, 4, Decomposition{2});
  EXPECT_EQ(
      *schedule.meaning,
      (Meaning{.op = "gemm+reduce_scatter", .m = 64, .n = 32, .k = 16, .a = 0, .b = 1, .result = 3, .chunks = 2}));
}

TEST(Decomposition, RowsMustDivideByGpusTimesChunks) {
  EXPECT_EQ(build_error(PairWorkload{PairOp::gemm_all_reduce, 100, 32, 16}, 8, Decomposition{4}),
            "workload.m: expected a multiple of gpus x chunks = 32, got 100");
  EXPECT_NE(build_error(PairWorkload{PairOp::gemm_all_reduce, 96, 32, 16}, 8, Decomposition{1 << 20}), "");
}

TEST(Decomposition, OpsWithoutAPairAreRefused) {
  EXPECT_NE(build_error(GemmWorkload{64, 32, 16}, 4, Decomposition{2}).find("schedule.family: "), std::string::npos);
  EXPECT_NE(build_error(PairWorkload{PairOp::all_to_all_gemm, 64, 32, 16}, 4, Decomposition{2}), "");
}

}  // namespace decomposition_test
}  // namespace weft::scenarios::families
