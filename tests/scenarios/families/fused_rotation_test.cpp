// Accumulators that go round the ranks while one GEMM computes all blocks, in launch order.
#include "scenarios/families/fused_rotation.hpp"

#include <gmock/gmock.h>

#include "models/check/check.hpp"
#include "models/check/race_check.hpp"
#include "models/check/validation.hpp"
#include "sim/meaning/numerical_meaning.hpp"
#include "tests/scenarios/program_text.hpp"

namespace weft::scenarios::families {
namespace fused_rotation_test {

using testing::ElementsAre;

Schedule rotation(PairOp op, int gpus, HybridMover mover, int count = 1) {
  return build_case(PairWorkload{op, std::int64_t{256} * gpus * count, 384, 64}, gpus,
                    Hybrid{.trigger = HybridTrigger::tile_group,
                           .mover = mover,
                           .pieces = HybridPieces::shards,
                           .count = count,
                           .sums = HybridSums::in_gemm});
}

Gemm& gemm_of(Schedule& schedule) {
  for (Operation& operation : schedule.operations)
    if (auto* gemm = std::get_if<Gemm>(&operation.work)) return *gemm;
  throw std::logic_error("a fused rotation has a GEMM");
}

TEST(FusedRotation, StoresWithoutAnyOtherKernel) {
  EXPECT_THAT(program_of(rotation(PairOp::gemm_reduce_scatter, 2, HybridMover::store)),
              ElementsAre("s0: enter", "s0: gemm"));
  EXPECT_THAT(program_of(rotation(PairOp::gemm_all_reduce, 4, HybridMover::store, 2)),
              ElementsAre("s0: enter", "s0: gemm", "s0: leave"));
}

TEST(FusedRotation, PushesABlockWhenItIsComputed) {
  EXPECT_THAT(program_of(rotation(PairOp::gemm_all_reduce, 2, HybridMover::push)),
              ElementsAre("s0: enter", "s0: gemm", "s1: push 0 0 after gemm", "flags: flag 0 0 after push 0 0",
                          "s1: sum 1 0 to rank + 1 after gemm", "s0: leave after sum 1 0 to rank + 1 after flag 0 0"));
}

// Of two steps in four chunks: those of the second step come one behind those of the first.
TEST(FusedRotation, ChunksOfOneStepAlternateWithThoseOfTheNext) {
  Schedule schedule = rotation(PairOp::gemm_reduce_scatter, 2, HybridMover::push, 4);
  std::vector<bool> adds;
  for (const RowBlock& block : row_blocks(gemm_of(schedule))) adds.push_back(block.addend.has_value());
  EXPECT_THAT(adds, ElementsAre(false, false, true, false, true, false, true, true));
}

TEST(FusedRotation, ComputesWhatItSaysWithoutRacesOnAnyNumberOfGpus) {
  for (const int gpus : {2, 3, 4, 8})
    for (const PairOp op : {PairOp::gemm_reduce_scatter, PairOp::gemm_all_reduce})
      for (const HybridMover mover : {HybridMover::store, HybridMover::push})
        for (const int count : {1, 2}) {
          const Schedule schedule = rotation(op, gpus, mover, count);
          EXPECT_NO_THROW(check(schedule)) << schedule.name;
          if (gpus == 8 && count == 2) continue;  // seconds
          if (const auto wrong = sim::meaning::check_meaning(schedule, 1))
            ADD_FAILURE() << schedule.name << ": " << describe(*wrong);
        }
}

TEST(FusedRotation, RacesWhereATileDoesNotWaitForWhatItAddsTo) {
  Schedule schedule = rotation(PairOp::gemm_reduce_scatter, 2, HybridMover::store);
  EXPECT_TRUE(find_races(schedule).empty());
  gemm_of(schedule).waits.pop_back();
  EXPECT_FALSE(find_races(schedule).empty());
}

// The operands are read before: a wait for what is added says nothing about them.
TEST(FusedRotation, RacesWhereOperandsAreWrittenBehindTheSameCounter) {
  Schedule schedule = rotation(PairOp::gemm_reduce_scatter, 2, HybridMover::push);
  const Slice operand = gemm_of(schedule).a;
  const auto flag = std::ranges::find_if(
      schedule.operations, [](const Operation& operation) { return std::holds_alternative<Signal>(operation.work); });
  ASSERT_NE(flag, schedule.operations.end());
  const Operation fill{"fill", flag->stream, {}, MemoryBound{MemoryKernel::fill, {}, {operand}}};
  schedule.operations.push_back(fill);  // behind the flag on its stream
  EXPECT_FALSE(find_races(schedule).empty());
}

}  // namespace fused_rotation_test
}  // namespace weft::scenarios::families
