#include "scenarios/schedule_words.hpp"

#include <gmock/gmock.h>

namespace weft::scenarios {
namespace schedule_words_test {

using testing::ElementsAre;
using testing::IsEmpty;

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

class OtherSoftware : public testing::Test {
 protected:
  std::vector<std::string> of(const ScheduleChoice& choice, int gpus = 8) const {
    return other_software({.id = "", .gpus = gpus, .workload = workload, .schedule = choice, .measured = {}}, machine);
  }
  std::vector<std::string> of(const Family& family) const { return of(ScheduleChoice{family}); }

  Workload workload = LayerWorkload{};
  Machine machine = [] {
    Machine one;
    one.runtime = Runtime::cuda;
    one.architecture = Architecture::hopper;
    one.fabric.multicast = true;
    return one;
  }();
};

TEST_F(OtherSoftware, RunsWhatItWasWrittenFor) {
  EXPECT_THAT(of(AsyncTp{}), ElementsAre("PyTorch (async TP)", "vLLM (fuse_gemm_comms)"));
  EXPECT_THAT(of(TokenSplit{.fused_norm = true}), ElementsAre("TokenWeave"));
  EXPECT_THAT(of(Hybrid{}), IsEmpty());
  const PairSchedule async_tp{AsyncTp{}};
  EXPECT_EQ(of(Pairs{async_tp, async_tp, async_tp, async_tp}), of(AsyncTp{}));
  EXPECT_THAT(of(Pairs{.qkv = async_tp}), ElementsAre("PyTorch (async TP)"));  // vLLM fuses all
  EXPECT_THAT(of(Pairs{.qkv = PairSchedule{AsyncTp{}}, .o = PairSchedule{Hybrid{}}}), IsEmpty());
}

// Both servers overlap two batches only where experts have GPUs of their own.
TEST_F(OtherSoftware, OverlapsNoTwoTokenSplitsWithTensorParallelism) {
  EXPECT_THAT(of(TokenSplit{}), IsEmpty());
  workload = LayerWorkload{.experts = 8, .experts_per_token = 2};
  EXPECT_THAT(of(TokenSplit{}), IsEmpty());
}

constexpr const char *vllm = "vLLM (its own all-reduce)", *sglang = "SGLang (its own all-reduce)";

TEST_F(OtherSoftware, ReducesFewBytesByKernelsOverPeerMemory) {
  const ScheduleChoice peers{.family = Serial{}, .collectives = Collectives::two_shot};
  workload = LayerWorkload{.tokens = 511, .hidden = 8192};  // just below 8 MiB
  EXPECT_THAT(of(peers), ElementsAre(vllm, sglang));
  EXPECT_THAT(of(Serial{}), IsEmpty());
  EXPECT_THAT(of(peers, 3), IsEmpty());
  workload = LayerWorkload{.tokens = 512, .hidden = 8192};  // more goes over multicast alone
  EXPECT_THAT(of(peers), ElementsAre(vllm));
  machine.fabric.multicast = false;
  EXPECT_THAT(of(peers), IsEmpty());
  workload = LayerWorkload{.tokens = 15, .hidden = 8192};  // just below 256 KiB
  EXPECT_THAT(of(peers), ElementsAre(vllm, sglang));
  workload = LayerWorkload{.tokens = 16, .hidden = 8192};
  EXPECT_THAT(of(peers), ElementsAre(sglang));
  EXPECT_THAT(of(peers, 4), ElementsAre(vllm, sglang));
  workload = LayerWorkload{.tokens = 15, .hidden = 8192, .sequence_parallel = true};
  EXPECT_THAT(of(peers), IsEmpty());
}

TEST_F(OtherSoftware, ReducesWhereGpusAreLinked) {
  const ScheduleChoice peers{.family = Serial{}, .collectives = Collectives::two_shot};
  workload = LayerWorkload{.tokens = 15, .hidden = 8192};
  machine.fabric.kind = FabricKind::pcie;
  EXPECT_THAT(of(peers), IsEmpty());
  EXPECT_THAT(of(peers, 2), ElementsAre(vllm, sglang));
  machine.fabric.kind = FabricKind::mesh;
  EXPECT_THAT(of(peers), ElementsAre(vllm, sglang));
  machine.runtime = Runtime::cann;
  EXPECT_THAT(of(peers), IsEmpty());
}

TEST_F(OtherSoftware, NeedsMachinesThatItRunsOn) {
  EXPECT_THAT(of(Signaling{}), IsEmpty());
  machine.architecture = Architecture::ampere;
  EXPECT_THAT(of(Signaling{}), ElementsAre("FlashOverlap"));
  machine.fabric.multicast = false;
  EXPECT_THAT(of(TokenSplit{.fused_norm = true}), IsEmpty());
  machine.fabric.peer_access = false;
  EXPECT_THAT(of(AsyncTp{}), IsEmpty());
  EXPECT_THAT(of(Signaling{}), ElementsAre("FlashOverlap"));  // over NCCL
}

}  // namespace schedule_words_test
}  // namespace weft::scenarios
