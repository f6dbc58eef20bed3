// Accumulators that go round the ranks, in launch order.
#include "scenarios/families/hybrid_rotation.hpp"

#include <gmock/gmock.h>

#include "models/check/race_check.hpp"
#include "models/check/validation.hpp"
#include "sim/meaning/numerical_meaning.hpp"
#include "tests/scenarios/program_text.hpp"

namespace weft::scenarios::families {
namespace hybrid_rotation_test {

using testing::ElementsAre;

Schedule rotation(PairOp op, int gpus, HybridMover mover = HybridMover::push, int count = 2) {
  return build_case(
      PairWorkload{op, 512, 128, 64}, gpus,
      Hybrid{.mover = mover, .pieces = HybridPieces::shards, .count = count, .sums = HybridSums::in_gemm});
}

TEST(HybridRotation, OwnersAddTheirProductToWhatWasPushed) {
  EXPECT_THAT(program_of(rotation(PairOp::gemm_reduce_scatter, 2)),
              ElementsAre("s0: enter", "s0: gemm 0 0", "s1: push 0 0 after enter after gemm 0 0",
                          "flags: flag 0 0 after push 0 0", "s0: gemm 0 1", "s1: push 0 1 after gemm 0 1",
                          "flags: flag 0 1 after push 0 1", "s0: arrived 0 0", "s0: gemm 1 0", "s0: arrived 0 1",
                          "s0: gemm 1 1"));
}

TEST(HybridRotation, OwnersSendTheSumsOfAnAllReduce) {
  EXPECT_THAT(program_of(rotation(PairOp::gemm_all_reduce, 2, HybridMover::pull, 1)),
              ElementsAre("s0: enter", "s0: gemm 0 0", "s1: computed 0 0 after enter after gemm 0 0", "s1: pull 0 0",
                          "s0: gemm 1 0 after pull 0 0", "s1: summed 0 after gemm 1 0", "s1: sum 0 1",
                          "s0: leave after sum 0 1"));
}

TEST(HybridRotation, ComputesWhatItSaysWithoutRacesOnAnyNumberOfGpus) {
  for (const int gpus : {2, 3, 4, 8})
    for (const PairOp op : {PairOp::gemm_reduce_scatter, PairOp::gemm_all_reduce})
      for (const HybridMover mover : {HybridMover::push, HybridMover::pull, HybridMover::peer_kernel})
        for (const int count : {1, 2, 3}) {
          const Schedule schedule = build_case(
              PairWorkload{op, 8 * 3 * gpus, 128, 64}, gpus,
              Hybrid{.mover = mover, .pieces = HybridPieces::shards, .count = count, .sums = HybridSums::in_gemm});
          EXPECT_NO_THROW(validate(schedule)) << schedule.name;
          for (const Race& race : find_races(schedule)) {
            ADD_FAILURE() << schedule.name << ": " << race.message;
            break;
          }
          for (const std::uint64_t seed : {1, 2})
            if (const auto wrong = sim::meaning::check_meaning(schedule, seed))
              ADD_FAILURE() << schedule.name << ": " << describe(*wrong);
        }
}

}  // namespace hybrid_rotation_test
}  // namespace weft::scenarios::families
