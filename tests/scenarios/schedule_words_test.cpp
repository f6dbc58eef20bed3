#include "scenarios/schedule_words.hpp"

#include <gtest/gtest.h>

namespace weft::scenarios {
namespace {

TEST(ScheduleWords, AreThoseOfThePeopleWhoRunThem) {
  EXPECT_EQ(words_of({Serial{}}), "serial");
  EXPECT_EQ(words_of({Decomposition{4}, 8}), "chunks, NCCL, 4 chunks, at most 8 CTAs");
  EXPECT_EQ(words_of({.family = Serial{}, .max_ctas = 16, .collectives = Collectives::two_shot}),
            "serial, collectives over peer memory, at most 16 CTAs");
  EXPECT_EQ(words_of({.family = Decomposition{2}, .collectives = Collectives::nccl_copy_engine}),
            "chunks, NCCL's copy engines, 2 chunks");
  EXPECT_EQ(words_of({.family = Serial{}, .collectives = Collectives::nccl_symmetric}),
            "serial, NCCL on symmetric memory");
  EXPECT_EQ(words_of({AsyncTp{.input = AsyncInput::symmetric}}), "async TP, symmetric input");
  EXPECT_EQ(words_of({Ficco{.chunks = FiccoChunks::rows}}), "FiCCO uniform fused 1d");
  EXPECT_EQ(words_of({TokenSplit{.first = 2048, .fused_norm = true, .comm_ctas = 4}}),
            "two token splits, first 2048 tokens, norm fused with the all-reduce on 4 CTAs");
  EXPECT_EQ(words_of({Hybrid{.mover = HybridMover::push, .pieces = HybridPieces::shards, .count = 1}}),
            "pushes shard by shard");
  EXPECT_EQ(words_of({Hybrid{
                .trigger = HybridTrigger::tile_group, .mover = HybridMover::store, .sums = HybridSums::everywhere}}),
            "tiles stored on peers chunk by chunk, in 2, of one GEMM, summed on every GPU");
  EXPECT_EQ(words_of({Pairs{.qkv = PairSchedule{AsyncTp{}}, .down = PairSchedule{Decomposition{2}, 8}}}),
            "pairs overlapped, qkv: async TP, down: chunks, NCCL, 2 chunks, at most 8 CTAs");
  EXPECT_EQ(words_of({Hybrid{.trigger = HybridTrigger::kernel_start, .mover = HybridMover::nccl, .count = 4}}),
            "NCCL chunk by chunk, in 4, begun with the next GEMM");
}

TEST(ScheduleWords, AKindIsWhatDetailsDoNotChange) {
  EXPECT_EQ(kind_of({Decomposition{4}, 8}), kind_of({Decomposition{2}}));
  EXPECT_NE(kind_of({Hybrid{.mover = HybridMover::push}}), kind_of({Hybrid{.mover = HybridMover::pull}}));
}

TEST(ScheduleWords, NameTheSoftwareThatRunsThem) {
  EXPECT_EQ(other_software({AsyncTp{}}), "PyTorch (async TP), vLLM (fuse_gemm_comms)");
  EXPECT_EQ(other_software({TokenSplit{.fused_norm = true}}), "TokenWeave");
  EXPECT_EQ(other_software({Hybrid{}}), "");
  EXPECT_EQ(other_software({Pairs{.qkv = PairSchedule{AsyncTp{}}}}), other_software({AsyncTp{}}));
  EXPECT_EQ(other_software({Pairs{.qkv = PairSchedule{AsyncTp{}}, .o = PairSchedule{Hybrid{}}}}), "");
}

}  // namespace
}  // namespace weft::scenarios
