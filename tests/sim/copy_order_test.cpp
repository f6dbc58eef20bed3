#include "sim/copy_order.hpp"

#include <gtest/gtest.h>

namespace weft::sim {
namespace copy_order_test {

Operation pull(StreamId stream, std::vector<After> after = {}) {
  Copy copy;
  copy.source.place = 1;
  return {.name = "pull", .stream = stream, .after = std::move(after), .work = copy};
}

Schedule two_streams(std::vector<Operation> operations) {
  Schedule schedule;
  schedule.gpus = 2;
  schedule.streams = {{"s0", 0}, {"s1", 0}, {"s2", 0}};
  schedule.operations = std::move(operations);
  return schedule;
}

TEST(KeepsCopyEngine, ForTheNextCopyOfTheStream) {
  EXPECT_EQ(keeps_copy_engine(two_streams({pull(1), pull(2), pull(1), pull(2)})),
            (std::vector<bool>{true, true, false, false}));
}

TEST(KeepsCopyEngine, NotWhereTheNextOneWaitsForAnotherStream) {
  EXPECT_EQ(keeps_copy_engine(two_streams({pull(1), pull(2), pull(1, {{.operation = 1}})})),
            (std::vector<bool>{false, false, false}));
}

TEST(KeepsCopyEngine, NotWhereAKernelWaitsForThisCopyAlone) {
  const Operation kernel{.name = "kernel", .stream = 0, .after = {{.operation = 0}}, .work = Gemm{}};
  EXPECT_EQ(keeps_copy_engine(two_streams({pull(1), kernel, pull(1)})), (std::vector<bool>{false, false, false}));
}

TEST(KeepsCopyEngine, NotWhereAKernelContinuesTheBranchOfTheFirstCopyItWaitsFor) {
  const Operation kernel{.name = "kernel", .stream = 0, .after = {{.operation = 1}, {.operation = 0}}, .work = Gemm{}};
  EXPECT_EQ(keeps_copy_engine(two_streams({pull(1), pull(2), kernel, pull(1), pull(2)})),
            (std::vector<bool>{true, false, false, false, false}));
}

// The GEMM that waits first continues the branch of the GEMM before it, but not where its stream has copied before: the
// second one breaks the other branch in either case.
TEST(KeepsCopyEngine, WhereTheFirstKernelThatWaitsContinuesTheBranchOfAGemm) {
  for (const bool copies_itself : {false, true}) {
    const Operation before{.name = "before", .stream = 0, .work = copies_itself ? Work{Copy{}} : Work{Gemm{}}};
    const Operation own{.name = "own", .stream = 0, .work = Gemm{}};
    const Operation first{.name = "first", .stream = 0, .after = {{.operation = 2}}, .work = Gemm{}};
    const Operation second{.name = "second", .stream = 0, .after = {{.operation = 3}}, .work = Gemm{}};
    EXPECT_EQ(keeps_copy_engine(two_streams({before, own, pull(1), pull(2), first, second, pull(1), pull(2)})),
              (std::vector<bool>{false, false, !copies_itself, false, false, false, false, false}));
  }
}

TEST(KeepsCopyEngine, NotWhereBranchesShareAQueue) {
  Schedule schedule = two_streams({pull(1), pull(2), pull(1), pull(2)});
  schedule.max_connections = 2;
  EXPECT_EQ(keeps_copy_engine(schedule), std::vector<bool>(4));
}

TEST(KeepsCopyEngine, NotWithoutAGraph) {
  Schedule schedule = two_streams({pull(1), pull(1)});
  schedule.launch = Launch::eager;
  EXPECT_EQ(keeps_copy_engine(schedule), (std::vector<bool>{false, false}));
}

TEST(CrossesRanks, OnlyCopyEngineCopiesBetweenGpus) {
  EXPECT_TRUE(is_peer_copy(pull(0).work));
  EXPECT_FALSE(is_peer_copy(Copy{}));
  EXPECT_FALSE(is_peer_copy(Gemm{}));
}

}  // namespace copy_order_test
}  // namespace weft::sim
