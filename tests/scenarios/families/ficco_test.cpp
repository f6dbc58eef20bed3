#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenarios/families/families.hpp"
#include "tests/scenarios/program_text.hpp"

namespace weft::scenarios::families {
namespace ficco_test {

using testing::ElementsAre;
using enum FiccoCompute;
using enum FiccoGemm;
using enum FiccoChunks;
using enum FiccoTransport;

const PairWorkload gather{PairOp::all_gather_gemm, 8, 6, 4};
const PairWorkload exchange{PairOp::all_to_all_gemm, 8, 6, 4};

/// Name and operands of every operation of a step, for two GPUs.
std::vector<std::string> step_of(const Schedule& schedule, int step) {
  std::vector<std::string> lines;
  const std::string number = " " + std::to_string(step);
  for (const Operation& operation : schedule.operations)
    if (operation.name.substr(0, operation.name.find(" of rank")).ends_with(number))
      lines.push_back(operation.name + ": " + operands_of(operation, schedule));
  return lines;
}

TEST(Ficco, UniformFusedComputesABlockOfAStepAndScattersItsRows) {
  const Schedule schedule = build_case(gather, 2, Ficco{uniform, fused, rows, copy_engine});
  EXPECT_THAT(program_of(schedule),
              ElementsAre("s0: enter",                                                                            //
                          "peer 1: pull 0 of rank + 1 after enter", "s0: copy own 0",                             //
                          "s0: gemm 0 after pull 0 of rank + 1",                                                  //
                          "s0: scatter 0 of rank + 0", "s0: scatter 0 of rank + 1",                               //
                          "peer 1: pull 1 of rank + 1", "s0: copy own 1", "s0: gemm 1 after pull 1 of rank + 1",  //
                          "s0: scatter 1 of rank + 0", "s0: scatter 1 of rank + 1", "s0: leave"));
  EXPECT_THAT(step_of(schedule, 1), ElementsAre("pull 1 of rank + 1: shard@1[2:4, 0:4] -> arrived[6:8, 0:4]",
                                                "copy own 1: shard[2:4, 0:4] -> arrived[4:6, 0:4]",
                                                "gemm 1: arrived[4:8, 0:4] x b[0:6, 0:4] -> block result[0:4, 0:6]",
                                                "scatter 1 of rank + 0: block result[0:2, 0:6] -> c[2:4, 0:6]",
                                                "scatter 1 of rank + 1: block result[2:4, 0:6] -> c[6:8, 0:6]"));
}

TEST(Ficco, HeteroComputesTheOwnShardFirst) {
  const Schedule schedule = build_case(gather, 2, Ficco{hetero, fused, rows, copy_engine});
  EXPECT_THAT(program_of(schedule), ElementsAre("s0: enter", "s0: gemm own",                                         //
                                                "peer 1: pull 0 of rank + 1 after enter",                            //
                                                "s0: gemm 0 after pull 0 of rank + 1", "s0: scatter 0 of rank + 1",  //
                                                "peer 1: pull 1 of rank + 1",                                        //
                                                "s0: gemm 1 after pull 1 of rank + 1", "s0: scatter 1 of rank + 1",  //
                                                "s0: leave"));
  EXPECT_THAT(step_of(schedule, 1), ElementsAre("pull 1 of rank + 1: shard@1[2:4, 0:4] -> arrived[2:4, 0:4]",
                                                "gemm 1: arrived[2:4, 0:4] x b[0:6, 0:4] -> block result[0:2, 0:6]",
                                                "scatter 1 of rank + 1: block result[0:2, 0:6] -> c[6:8, 0:6]"));
}

TEST(Ficco, UnfusedComputesEachChunkInItsPlaceAsItArrives) {
  const Schedule schedule =
      build_case(PairWorkload{PairOp::all_gather_gemm, 9, 6, 4}, 3, Ficco{hetero, unfused, rows, copy_engine});
  const std::vector<std::string> program = program_of(schedule);
  EXPECT_THAT(std::vector(program.begin() + 2, program.begin() + 6),
              ElementsAre("peer 1: pull 0 of rank + 1 after enter", "peer 2: pull 0 of rank + 2 after enter",
                          "s0: gemm 0 of rank + 1 after pull 0 of rank + 1",
                          "s0: gemm 0 of rank + 2 after pull 0 of rank + 2"));
  EXPECT_THAT(step_of(schedule, 2), ElementsAre("pull 2 of rank + 1: shard@1[2:3, 0:4] -> arrived[5:6, 0:4]",
                                                "pull 2 of rank + 2: shard@2[2:3, 0:4] -> arrived[8:9, 0:4]",
                                                "gemm 2 of rank + 1: arrived[5:6, 0:4] x b[0:6, 0:4] -> c[5:6, 0:6]",
                                                "gemm 2 of rank + 2: arrived[8:9, 0:4] x b[0:6, 0:4] -> c[8:9, 0:6]"));
}

TEST(Ficco, UniformUnfusedComputesTheOwnChunkInEachStep) {
  const Schedule schedule = build_case(gather, 2, Ficco{uniform, unfused, rows, copy_engine});
  EXPECT_THAT(step_of(schedule, 0), ElementsAre("pull 0 of rank + 1: shard@1[0:2, 0:4] -> arrived[4:6, 0:4]",
                                                "copy own 0: shard[0:2, 0:4] -> arrived[0:2, 0:4]",
                                                "gemm 0 of rank + 0: arrived[0:2, 0:4] x b[0:6, 0:4] -> c[0:2, 0:6]",
                                                "gemm 0 of rank + 1: arrived[4:6, 0:4] x b[0:6, 0:4] -> c[4:6, 0:6]"));
}

TEST(Ficco, TwoDimensionalChunksAreSlicesOfKThatAccumulate) {
  const Schedule schedule = build_case(gather, 2, Ficco{uniform, fused, rows_and_columns, copy_engine});
  EXPECT_THAT(step_of(schedule, 1), ElementsAre("pull 1 of rank + 1: shard@1[0:4, 2:4] -> arrived[12:16, 0:2]",
                                                "copy own 1: shard[0:4, 2:4] -> arrived[8:12, 0:2]",
                                                "gemm 1: arrived[8:16, 0:2] x b[0:6, 2:4] -> c[0:8, 0:6]"));
  EXPECT_FALSE(all_of_kind<Gemm>(schedule)[0].addend.has_value());
  EXPECT_TRUE(all_of_kind<Gemm>(schedule)[1].addend.has_value());
}

TEST(Ficco, TwoDimensionalHeteroFusedScattersOnceItsRowsAreComplete) {
  const Schedule schedule = build_case(gather, 2, Ficco{hetero, fused, rows_and_columns, copy_engine});
  EXPECT_THAT(step_of(schedule, 0), ElementsAre("pull 0 of rank + 1: shard@1[0:4, 0:2] -> arrived[0:4, 0:2]",
                                                "gemm 0: arrived[0:4, 0:2] x b[0:6, 0:2] -> block result[0:4, 0:6]"));
  EXPECT_THAT(step_of(schedule, 1), ElementsAre("pull 1 of rank + 1: shard@1[0:4, 2:4] -> arrived[4:8, 0:2]",
                                                "gemm 1: arrived[4:8, 0:2] x b[0:6, 2:4] -> block result[0:4, 0:6]",
                                                "scatter 1 of rank + 1: block result[0:4, 0:6] -> c[4:8, 0:6]"));
}

TEST(Ficco, TwoDimensionalUnfusedPullsColumnsToTheirPlace) {
  const Schedule schedule = build_case(gather, 2, Ficco{hetero, unfused, rows_and_columns, copy_engine});
  EXPECT_THAT(step_of(schedule, 1), ElementsAre("pull 1 of rank + 1: shard@1[0:4, 2:4] -> arrived[4:8, 2:4]",
                                                "gemm 1 of rank + 1: arrived[4:8, 2:4] x b[0:6, 2:4] -> c[4:8, 0:6]"));
}

// Rank 0 pulls its own rows, which are the first of what each peer sends.
TEST(Ficco, AnExchangePullsTheOwnRowsFromEachPeer) {
  const Schedule schedule = build_case(exchange, 2, Ficco{hetero, unfused, rows, copy_engine});
  EXPECT_EQ(operands_of(schedule.operations[1], schedule), "send[0:4, 0:4] x b[0:6, 0:4] -> c[0:4, 0:6]");
  EXPECT_EQ(step_of(schedule, 1).front(), "pull 1 of rank + 1: send@1[2:4, 0:4] -> arrived[6:8, 0:4]");
}

TEST(Ficco, ACollectiveBringsTheChunksOfAStepOnOneUrgentStream) {
  const Schedule schedule = build_case(gather, 2, Ficco{uniform, fused, rows, collective});
  EXPECT_THAT(schedule.streams, ElementsAre(Stream{"s0", 0}, Stream{"s1", -5}));
  EXPECT_THAT(program_of(schedule),
              ElementsAre("s0: enter",                                                      //
                          "s1: all_gather 0 after enter", "s0: gemm 0 after all_gather 0",  //
                          "s0: scatter 0 of rank + 0", "s0: scatter 0 of rank + 1",         //
                          "s1: all_gather 1", "s0: gemm 1 after all_gather 1",              //
                          "s0: scatter 1 of rank + 0", "s0: scatter 1 of rank + 1", "s0: leave"));
  EXPECT_EQ(step_of(schedule, 1).front(), "all_gather 1: shard[2:4, 0:4] -> arrived[4:8, 0:4]");
}

TEST(Ficco, UnfusedGemmsReadTheirChunksFromWhatACollectiveGathered) {
  const Schedule schedule = build_case(gather, 2, Ficco{hetero, unfused, rows, collective});
  EXPECT_THAT(step_of(schedule, 1), ElementsAre("all_gather 1: shard[2:4, 0:4] -> arrived[4:8, 0:4]",
                                                "gemm 1 of rank + 1: arrived[6:8, 0:4] x b[0:6, 0:4] -> c[6:8, 0:6]"));
}

TEST(Ficco, HasEveryPointWithCopyEnginesAndThreeWithACollective) {
  EXPECT_EQ(ficco_points(PairOp::all_to_all_gemm).size(), 8u);
  EXPECT_EQ(ficco_points(PairOp::all_gather_gemm).size(), 8u + 3u);
  EXPECT_TRUE(ficco_points(PairOp::gemm_reduce_scatter).empty());
}

TEST(Ficco, WhatNoCollectiveCanBringIsRefused) {
  const std::string error = "schedule.transport: expected copy_engine (";
  EXPECT_EQ(build_error(gather, 2, Ficco{uniform, fused, rows_and_columns, collective}).rfind(error, 0), 0u);
  EXPECT_EQ(build_error(gather, 2, Ficco{hetero, fused, rows, collective}).rfind(error, 0), 0u);
  EXPECT_EQ(build_error(exchange, 2, Ficco{uniform, unfused, rows, collective}).rfind(error, 0), 0u);
}

TEST(Ficco, ARefusalSaysWhatTheCollectiveCannotDo) {
  EXPECT_NE(build_error(gather, 2, Ficco{hetero, fused, rows, collective}).find("the own chunk"), std::string::npos);
  EXPECT_NE(build_error(gather, 2, Ficco{uniform, fused, rows_and_columns, collective}).find("2d cuts"),
            std::string::npos);
  EXPECT_NE(build_error(exchange, 2, Ficco{uniform, fused, rows, collective}).find("lie apart"), std::string::npos);
}

TEST(Ficco, UndividedItIsOneStepOfWholeShards) {
  const Case request =
      make_case(PairWorkload{PairOp::all_gather_gemm, 12, 6, 4}, 3, Ficco{hetero, unfused, rows, copy_engine});
  EXPECT_THAT(
      program_of(build_undivided_ficco(request)),
      ElementsAre("s0: enter", "peer 1: pull 0 of rank + 1 after enter", "peer 2: pull 0 of rank + 2 after enter",
                  "s0: copy own 0", "s0: gemm 0 after pull 0 of rank + 1 after pull 0 of rank + 2", "s0: leave"));
  EXPECT_EQ(all_of_kind<Gemm>(build_undivided_ficco(request)).size(), 1u);
}

TEST(Ficco, ChunksMustBeWholeRowsOrColumns) {
  EXPECT_EQ(build_error(PairWorkload{PairOp::all_gather_gemm, 8, 6, 4}, 4, Ficco{}),
            "workload.m: expected a multiple of gpus x gpus = 16, got 8");
  const Ficco columns{uniform, fused, rows_and_columns, copy_engine};
  EXPECT_EQ(build_error(PairWorkload{PairOp::all_gather_gemm, 8, 6, 4}, 4, columns), "");
  EXPECT_EQ(build_error(PairWorkload{PairOp::all_gather_gemm, 8, 6, 6}, 4, columns),
            "workload.k: expected a multiple of gpus = 4 for 2d chunks, got 6");
  EXPECT_EQ(build_error(PairWorkload{PairOp::all_gather_gemm, 9, 6, 4}, 4, columns),
            "workload.m: expected a multiple of gpus = 4, got 9");
}

TEST(Ficco, ImbalanceLeavesEveryRankWholeChunks) {
  // 64 x 1.1 = 70.4, rounded up to a multiple of 4 x 4; 176 are left.
  const PairWorkload pair{PairOp::all_to_all_gemm, 64, 32, 16, DataType::bf16, 1.1};
  EXPECT_THAT(build_case(pair, 4, Ficco{}).meaning->rows_of_rank, ElementsAre(80, 64, 64, 48));
}

TEST(Ficco, OtherOpsAreRefused) {
  EXPECT_EQ(build_error(PairWorkload{PairOp::gemm_reduce_scatter, 64, 32, 16}, 4, Ficco{}),
            "schedule.family: expected an op that ficco has (all_gather+gemm, all_to_all+gemm), got "
            "gemm+reduce_scatter");
}

}  // namespace ficco_test
}  // namespace weft::scenarios::families
