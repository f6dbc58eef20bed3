#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenarios/families/build.hpp"
#include "tests/models/error_of.hpp"
#include "tests/scenarios/program_text.hpp"

namespace weft::scenarios::families {
namespace async_tp_test {

using testing::ElementsAre;

const PairWorkload gather{PairOp::all_gather_gemm, 64, 32, 16};
const PairWorkload scatter{PairOp::gemm_reduce_scatter, 64, 32, 16};

std::string operands(const Schedule& schedule, const std::string& name) {
  for (const Operation& operation : schedule.operations)
    if (operation.name == name) return operands_of(operation, schedule);
  return "no " + name;
}

TEST(AsyncTp, PublishesItsShardThenPullsAndMultipliesOnTwoStreamsInTurn) {
  EXPECT_THAT(program_of(build_case(gather, 4, AsyncTp{AsyncInput::copied})),
              ElementsAre("s0: enter", "s0: publish", "s0: published", "s0: gemm own",  //
                          "s1: pull 1 after published", "s1: gemm 1",                   //
                          "s0: pull 2", "s0: gemm 2",                                   //
                          "s1: pull 3", "s1: gemm 3",                                   //
                          "s0: copy own", "s0: leave after gemm 3"));
}

TEST(AsyncTp, KeepsTheOwnShardOnTheStreamThatIsDoneFirst) {
  EXPECT_THAT(program_of(build_case(PairWorkload{PairOp::all_gather_gemm, 63, 32, 16}, 3, AsyncTp{})),
              ElementsAre("s0: enter", "s0: publish", "s0: published", "s0: gemm own",  //
                          "s1: pull 1 after published", "s1: gemm 1",                   //
                          "s0: pull 2", "s0: gemm 2",                                   //
                          "s1: copy own", "s0: leave after copy own"));
}

TEST(AsyncTp, ASymmetricInputIsNeitherPublishedNorKept) {
  const Schedule schedule = build_case(gather, 4, AsyncTp{AsyncInput::symmetric});
  EXPECT_THAT(program_of(schedule), ElementsAre("s0: enter", "s0: gemm own",             //
                                                "s1: pull 1 after enter", "s1: gemm 1",  //
                                                "s0: pull 2", "s0: gemm 2",              //
                                                "s1: pull 3", "s1: gemm 3",              //
                                                "s0: leave after gemm 3"));
  EXPECT_TRUE(schedule.meaning->also.empty());
}

TEST(AsyncTp, EachPulledShardIsMultipliedIntoItsRows) {
  const Schedule schedule = build_case(gather, 4, AsyncTp{});
  EXPECT_EQ(operands(schedule, "gemm own"), "shard[0:16, 0:16] x b[0:32, 0:16] -> c[0:16, 0:32]");
  EXPECT_EQ(operands(schedule, "pull 2"), "published@2[0:16, 0:16] -> a[32:48, 0:16]");
  EXPECT_EQ(operands(schedule, "gemm 2"), "a[32:48, 0:16] x b[0:32, 0:16] -> c[32:48, 0:32]");
}

TEST(AsyncTp, ComputesForOnePeerWhileItPullsFromAnother) {
  EXPECT_THAT(program_of(build_case(scatter, 4, AsyncTp{})),
              ElementsAre("s0: enter", "s0: gemm 1", "s0: computed 1", "s0: pull 1", "s0: pulled 1",  //
                          "s1: gemm 2 after enter", "s1: computed 2", "s1: pull 2", "s1: pulled 2",   //
                          "s0: gemm 3", "s0: computed 3", "s0: pull 3", "s0: pulled 3",               //
                          "s1: gemm own", "s0: leave after gemm own", "s0: sum"));
}

TEST(AsyncTp, OfTwoRanksTheGemmWhoseResultIsPulledContinuesTheChain) {
  EXPECT_THAT(program_of(build_case(scatter, 2, AsyncTp{})),
              ElementsAre("s0: enter", "s0: gemm 1", "s0: computed 1", "s0: pull 1", "s0: pulled 1",  //
                          "s1: gemm own after enter", "s0: leave after gemm own", "s0: sum"));
}

Schedule by_pytorch(const PairWorkload& pair, int gpus) {
  Case request = make_case(pair, gpus, AsyncTp{});
  request.schedule.implementation = Implementation::pytorch;
  return build(request, round_machine());
}

TEST(AsyncTp, PytorchsFirstGemmIsOnTheOtherStreamAndTheNextOneBehindADelay) {
  EXPECT_THAT(program_of(by_pytorch(scatter, 4)),
              ElementsAre("s0: enter",                                                                //
                          "s1: gemm 1 after enter", "s1: computed 1", "s1: pull 1", "s1: pulled 1",   //
                          "s0: delay", "s0: gemm 2", "s0: computed 2", "s0: pull 2", "s0: pulled 2",  //
                          "s1: gemm 3", "s1: computed 3", "s1: pull 3", "s1: pulled 3",               //
                          "s0: gemm own", "s0: leave after pulled 3", "s0: sum"));
  EXPECT_THAT(program_of(by_pytorch(scatter, 2)),
              ElementsAre("s0: enter",                                                               //
                          "s1: gemm 1 after enter", "s1: computed 1", "s1: pull 1", "s1: pulled 1",  //
                          "s0: delay", "s0: gemm own", "s0: leave after pulled 1", "s0: sum"));
}

TEST(AsyncTp, EveryPartialProductIsKeptUntilTheSum) {
  const Schedule schedule = build_case(scatter, 4, AsyncTp{});
  EXPECT_EQ(operands(schedule, "gemm 1"), "a[16:32, 0:16] x b[0:32, 0:16] -> chunk 0[0:16, 0:32]");
  EXPECT_EQ(operands(schedule, "pull 1"), "chunk 0@-1[0:16, 0:32] -> partials[48:64, 0:32]");
  EXPECT_EQ(operands(schedule, "gemm 2"), "a[32:48, 0:16] x b[0:32, 0:16] -> chunk 1[0:16, 0:32]");
  EXPECT_EQ(operands(schedule, "gemm own"), "a[0:16, 0:16] x b[0:32, 0:16] -> partials[0:16, 0:32]");
  EXPECT_EQ(operands(schedule, "sum"), "partials[0:64, 0:32] -> result[0:16, 0:32]");
}

const AsyncTp rotating{AsyncInput::copied, AsyncForm::rotating};

TEST(AsyncTp, AddsToAnAccumulatorThatGoesRound) {
  EXPECT_THAT(
      program_of(build_case(scatter, 4, rotating)),
      ElementsAre("s0: gemm 0",                                                                       //
                  "s1: summed 0 after gemm 0", "s1: pull 1", "s0: gemm 1", "s0: add 1 after pull 1",  //
                  "s1: summed 1 after add 1", "s1: pull 2", "s0: gemm 2", "s0: add 2 after pull 2",   //
                  "s1: summed 2 after add 2", "s1: pull 3", "s0: gemm 3", "s0: add 3 after pull 3", "s0: leave"));
}

TEST(AsyncTp, AnAccumulatorIsPulledFromTheRankBeforeAndEndsWhereItsRowsBelong) {
  const Schedule schedule = build_case(scatter, 4, rotating);
  EXPECT_EQ(operands(schedule, "gemm 0"), "a[48:64, 0:16] x b[0:32, 0:16] -> accumulator 0[0:16, 0:32]");
  EXPECT_EQ(operands(schedule, "pull 1"), "accumulator 0@-1[0:16, 0:32] -> arrived[0:16, 0:32]");
  EXPECT_EQ(operands(schedule, "gemm 1"), "a[32:48, 0:16] x b[0:32, 0:16] -> product[0:16, 0:32]");
  EXPECT_EQ(operands(schedule, "add 1"), "arrived[0:16, 0:32], product[0:16, 0:32] -> accumulator 1[0:16, 0:32]");
  EXPECT_EQ(operands(schedule, "gemm 3"), "a[0:16, 0:16] x b[0:32, 0:16] -> product[0:16, 0:32]");
  EXPECT_EQ(operands(schedule, "add 3"), "arrived[0:16, 0:32], product[0:16, 0:32] -> result[0:16, 0:32]");
}

TEST(AsyncTp, PytorchSumsByItsOwnKernelAndNothingGoesRound) {
  const Schedule schedule = by_pytorch(scatter, 4);
  EXPECT_EQ(schedule.implementation, Implementation::pytorch);
  EXPECT_EQ(std::get<MemoryBound>(schedule.operations.back().work).kernel, MemoryKernel::pytorch_sum);
  Case request = make_case(scatter, 4, rotating);
  request.schedule.implementation = Implementation::pytorch;
  EXPECT_EQ(error_of([&] { build(request, round_machine()); }),
            "schedule.form: expected all_to_all: PyTorch's sums do not go round, got rotating");
}

TEST(AsyncTp, AGatherHasNoAccumulators) {
  EXPECT_EQ(build_error(gather, 4, rotating),
            "schedule.form: expected none: all_gather+gemm sums nothing, got rotating");
}

TEST(AsyncTp, PytorchsDelaysAHundredClocks) {
  EXPECT_THAT(all_of_kind<Delay>(by_pytorch(scatter, 4)), ElementsAre(Delay{100 / round_machine().gpu.max_clock_MHz}));
}

TEST(AsyncTp, BothStreamsAreOfNormalPriority) {
  for (const PairWorkload& pair : {gather, scatter})
    EXPECT_THAT(build_case(pair, 4, AsyncTp{}).streams, ElementsAre(Stream{"s0", 0}, Stream{"s1", 0}));
}

TEST(AsyncTp, RowsMustDivideByGpus) {
  for (const PairOp op : {PairOp::all_gather_gemm, PairOp::gemm_reduce_scatter})
    EXPECT_EQ(build_error(PairWorkload{op, 100, 32, 16}, 8, AsyncTp{}),
              "workload.m: expected a multiple of gpus = 8, got 100");
}

TEST(AsyncTp, OtherOpsAreRefused) {
  EXPECT_EQ(build_error(PairWorkload{PairOp::gemm_all_reduce, 64, 32, 16}, 4, AsyncTp{}),
            "schedule.family: expected an op that async_tp has (all_gather+gemm, gemm+reduce_scatter, "
            "transformer_layer), got gemm+all_reduce");
  EXPECT_NE(build_error(GemmWorkload{64, 32, 16}, 4, AsyncTp{}), "");
}

TEST(AsyncTp, AReductionHasNoGatheredInput) {
  EXPECT_EQ(build_error(scatter, 4, AsyncTp{AsyncInput::symmetric}),
            "schedule.input: expected none: gemm+reduce_scatter gathers no input, got symmetric");
}

}  // namespace async_tp_test
}  // namespace weft::scenarios::families
