#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scenarios/program_text.hpp"

namespace weft::scenarios::families {
namespace concurrent_test {

using testing::ElementsAre;

const ConcurrentPair both{64, 32, 16, 4096};

TEST(Concurrent, TheOrderOfLaunchIsTheOnlyDifference) {
  EXPECT_THAT(program_of(build_case(both, 4, Concurrent{FirstLaunched::collective})),
              ElementsAre("s1: all_reduce", "s0: gemm"));
  EXPECT_THAT(program_of(build_case(both, 4, Concurrent{FirstLaunched::gemm})),
              ElementsAre("s0: gemm", "s1: all_reduce"));
}

TEST(Concurrent, TheAllReduceHasABufferOfItsOwn) {
  const Schedule schedule = build_case(both, 4, Concurrent{FirstLaunched::gemm});
  EXPECT_EQ(operands_of(schedule.operations[1], schedule), "reduced[0:4, 0:512] -> reduced[0:4, 0:512]");
  EXPECT_EQ(schedule.streams[1].priority, -5);
}

TEST(Concurrent, SerialRunsBothOnOneStreamAsTheReference) {
  EXPECT_THAT(program_of(build_case(both, 4)), ElementsAre("s0: gemm", "s0: all_reduce"));
}

TEST(Concurrent, DependentPairsAreRefused) {
  EXPECT_NE(build_error(PairWorkload{PairOp::gemm_all_reduce, 64, 32, 16}, 4, Concurrent{FirstLaunched::gemm}), "");
}

}  // namespace concurrent_test
}  // namespace weft::scenarios::families
