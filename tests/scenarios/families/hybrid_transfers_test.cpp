// Who moves the bytes of a hybrid, and what they wait for, in launch order.
#include "scenarios/families/hybrid_transfers.hpp"

#include <gmock/gmock.h>

#include "tests/scenarios/program_text.hpp"

namespace weft::scenarios::families {
namespace hybrid_transfers_test {

using testing::ElementsAre;

/// On two GPUs, in two pieces.
std::vector<std::string> program(PairOp op, Hybrid hybrid, std::int64_t rows = 256) {
  hybrid.count = 2;
  return program_of(build_case(PairWorkload{op, rows, 128, 64}, 2, hybrid));
}

TEST(HybridTransfers, PulledInputsAreThereWhenAllRanksAre) {
  EXPECT_THAT(program(PairOp::all_gather_gemm, {.mover = HybridMover::pull}),
              ElementsAre("s0: enter", "s1: pull 0 with rank + 1 after enter", "s0: copy own 0",
                          "s0: gemm 0 after pull 0 with rank + 1", "s1: pull 1 with rank + 1", "s0: copy own 1",
                          "s0: gemm 1 after pull 1 with rank + 1", "s0: leave after pull 1 with rank + 1"));
}

TEST(HybridTransfers, PulledResultsAreThereAfterABarrier) {
  EXPECT_THAT(
      program(PairOp::gemm_all_to_all, {.mover = HybridMover::pull}),
      ElementsAre("s0: enter", "s0: gemm 0", "s1: computed 0 after enter after gemm 0", "s1: pull 0 with rank + 1",
                  "s0: gemm 1", "s1: computed 1 after gemm 1", "s1: pull 1 with rank + 1", "s0: copy own 0",
                  "s0: copy own 1", "s0: leave after pull 1 with rank + 1"));
}

TEST(HybridTransfers, PushedInputsRaiseAFlag) {
  EXPECT_THAT(program(PairOp::all_gather_gemm, {.mover = HybridMover::push}),
              ElementsAre("s0: enter", "s1: push 0 with rank + 1 after enter", "s1: flag 1", "s0: copy own 0",
                          "s0: arrived 0", "s0: gemm 0", "s1: push 1 with rank + 1", "s1: flag 2", "s0: copy own 1",
                          "s0: arrived 1", "s0: gemm 1", "s0: leave after flag 2"));
}

/// Of each signal of a hybrid that pushes what is gathered.
std::vector<SignalPath> paths(Hybrid hybrid, int gpus) {
  hybrid.mover = HybridMover::push;
  hybrid.count = 2;
  std::vector<SignalPath> paths;
  for (const Signal& signal :
       all_of_kind<Signal>(build_case(PairWorkload{PairOp::all_gather_gemm, 1024, 128, 64}, gpus, hybrid)))
    paths.push_back(signal.path);
  return paths;
}

TEST(HybridTransfers, TheEngineThatPushesAPieceInOneCopyTellsOfIt) {
  using enum SignalPath;
  EXPECT_THAT(paths({.pieces = HybridPieces::chunks}, 2), ElementsAre(copied_word, copied_word));
  EXPECT_THAT(paths({.pieces = HybridPieces::shards}, 4), testing::Each(copied_word));
  EXPECT_THAT(paths({.pieces = HybridPieces::chunks}, 4), testing::Each(kernel)) << "three ranks tell of each piece";
  EXPECT_THAT(paths({.trigger = HybridTrigger::tile_group}, 2), testing::Each(kernel)) << "tiles wait";
}

TEST(HybridTransfers, ReducedResultsAreAddedUpAtTheEnd) {
  const std::vector<std::string> lines = program(PairOp::gemm_reduce_scatter, {.mover = HybridMover::push});
  EXPECT_THAT(std::vector(lines.end() - 3, lines.end()),
              ElementsAre("s0: leave after push 1 with rank + 1", "s0: sum 0", "s0: sum 1"));
}

TEST(HybridTransfers, PiecesAreAddedUpAndSentOnAsTheyCome) {
  EXPECT_THAT(
      program(PairOp::gemm_all_reduce, {.mover = HybridMover::pull, .sums = HybridSums::by_piece}),
      ElementsAre("s0: enter", "s0: gemm 0", "s1: computed 0 after enter after gemm 0", "s1: pull 0 with rank + 1",
                  "sums: sum 0 after pull 0 with rank + 1", "sums: summed 0", "sums: sum of 0 with rank + 1",
                  "s0: gemm 1", "s1: computed 1 after gemm 1", "s1: pull 1 with rank + 1",
                  "sums: sum 1 after pull 1 with rank + 1", "sums: summed 1", "sums: sum of 1 with rank + 1",
                  "s0: leave after pull 1 with rank + 1 after sum of 1 with rank + 1"));
}

TEST(HybridTransfers, PiecesThatGoEverywhereAreAddedUpEverywhere) {
  EXPECT_THAT(program(PairOp::gemm_all_reduce, {.mover = HybridMover::push, .sums = HybridSums::everywhere}),
              ElementsAre("s0: enter", "s0: gemm 0", "s1: push 0 with rank + 1 after enter after gemm 0",
                          "sums: arrived 0 after push 0 with rank + 1", "sums: sum 0", "s0: gemm 1",
                          "s1: push 1 with rank + 1 after gemm 1", "sums: arrived 1 after push 1 with rank + 1",
                          "sums: sum 1"));
}

TEST(HybridTransfers, LateSumsComeAfterTheLastGemm) {
  EXPECT_THAT(
      program(PairOp::gemm_all_reduce, {.mover = HybridMover::push, .sums = HybridSums::everywhere, .late_sums = true}),
      ElementsAre("s0: enter", "s0: gemm 0", "s1: push 0 with rank + 1 after enter after gemm 0",
                  "sums: arrived 0 after push 0 with rank + 1", "s0: gemm 1", "s1: push 1 with rank + 1 after gemm 1",
                  "sums: arrived 1 after push 1 with rank + 1", "s0: sum 0 after arrived 0",
                  "s0: sum 1 after arrived 1"));
  EXPECT_THAT(
      program(PairOp::gemm_reduce_scatter,
              {.mover = HybridMover::pull, .sums = HybridSums::by_piece, .late_sums = true}),
      ElementsAre("s0: enter", "s0: gemm 0", "s1: computed 0 after enter after gemm 0", "s1: pull 0 with rank + 1",
                  "s0: gemm 1", "s1: computed 1 after gemm 1", "s1: pull 1 with rank + 1",
                  "s0: sum 0 after pull 0 with rank + 1", "s0: sum 1 after pull 1 with rank + 1"));
}

TEST(HybridTransfers, StoredTilesNeedNoTransfer) {
  const Hybrid stores{.mover = HybridMover::store, .pieces = HybridPieces::shards};
  EXPECT_THAT(program(PairOp::gemm_all_to_all, stores, 512),
              ElementsAre("s0: enter", "s0: gemm 0", "s0: gemm 1", "s0: gemm 2", "s0: gemm 3", "s0: leave"));
  EXPECT_THAT(program(PairOp::gemm_reduce_scatter, stores, 512),
              ElementsAre("s0: enter", "s0: gemm 0", "s0: gemm 1", "s0: gemm 2", "s0: gemm 3", "s0: leave", "s0: sum 0",
                          "s0: sum 1"));
}

TEST(HybridTransfers, TilesStoredEverywhereAreAddedUpGroupByGroup) {
  EXPECT_THAT(
      program(PairOp::gemm_all_reduce,
              {.trigger = HybridTrigger::tile_group, .mover = HybridMover::store, .sums = HybridSums::everywhere}),
      ElementsAre("s0: enter", "s0: gemm", "sums: stored 0 after gemm", "sums: sum 0", "sums: stored 1 after gemm",
                  "sums: sum 1"));
}

TEST(HybridTransfers, NcclMovesAPieceInOneCollective) {
  EXPECT_THAT(
      program(PairOp::gemm_all_reduce, {.mover = HybridMover::nccl}),
      ElementsAre("s0: gemm 0", "s1: all_reduce 0 after gemm 0", "s0: gemm 1", "s1: all_reduce 1 after gemm 1"));
}

TEST(HybridTransfers, OfKernelsAreCopiesOnSms) {
  for (const auto& [mover, path] :
       {std::pair{HybridMover::peer_kernel, CopyPath::sms}, std::pair{HybridMover::pull, CopyPath::copy_engine}}) {
    const Schedule schedule =
        build_case(PairWorkload{PairOp::all_gather_gemm, 256, 128, 64}, 2, Hybrid{.mover = mover, .count = 2});
    EXPECT_EQ(all_of_kind<Copy>(schedule).front().path, path);
  }
}

TEST(HybridTransfers, HaveALaneForEachPeerWhereAsked) {
  const Schedule schedule = build_case(PairWorkload{PairOp::all_gather_gemm, 256, 128, 64}, 4,
                                       Hybrid{.mover = HybridMover::pull, .count = 2, .lanes = HybridLanes::each_peer});
  EXPECT_EQ(schedule.streams.size(), 1u + 3u);
}

TEST(HybridTrigger, StartOfTheNextGemmReleasesATransfer) {
  EXPECT_THAT(program(PairOp::gemm_all_reduce, {.trigger = HybridTrigger::kernel_start}),
              ElementsAre("s0: gemm 0", "s0: gemm 1", "s1: all_reduce 0 after gemm 0 after gemm 1",
                          "s1: all_reduce 1 after gemm 1"));
  EXPECT_THAT(program(PairOp::all_gather_gemm, {.trigger = HybridTrigger::kernel_start}),
              ElementsAre("s1: all_gather 0", "s0: gemm 0 after all_gather 0", "s1: all_gather 1 after gemm 0",
                          "s0: gemm 1 after all_gather 1"));
}

TEST(HybridTrigger, TileGroupsOfOneGemmReleaseTransfers) {
  const Schedule schedule = build_case(PairWorkload{PairOp::gemm_all_reduce, 256, 128, 64}, 2,
                                       Hybrid{.trigger = HybridTrigger::tile_group, .count = 2});
  EXPECT_THAT(program_of(schedule),
              ElementsAre("s0: gemm", "s1: all_reduce 0 after gemm", "s1: all_reduce 1 after gemm"));
  EXPECT_THAT(schedule.operations[2].after, ElementsAre(After{0, Point::tile_group, 1}));
}

TEST(HybridTrigger, LaunchedAheadAllOfWhatComesFirstIsLaunchedBeforeTheRest) {
  EXPECT_THAT(program(PairOp::all_gather_gemm, {.ahead = true}),
              ElementsAre("s1: all_gather 0", "s1: all_gather 1", "s0: gemm 0 after all_gather 0",
                          "s0: gemm 1 after all_gather 1"));
}

TEST(HybridTrigger, KernelBarrierHoldsAGemmUntilTheTransferBesideItHasItsSms) {
  EXPECT_THAT(program(PairOp::all_gather_gemm, {.kernel_barrier = true}),
              ElementsAre("s1: all_gather 0", "s1: all_gather 1", "s0: gemm 0 after all_gather 0 after all_gather 1",
                          "s0: gemm 1 after all_gather 1"));
}

}  // namespace hybrid_transfers_test
}  // namespace weft::scenarios::families
