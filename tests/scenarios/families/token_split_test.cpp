#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "scenarios/families/build.hpp"
#include "scenarios/families/token_split_search.hpp"
#include "tests/models/error_of.hpp"
#include "tests/scenarios/program_text.hpp"

namespace weft::scenarios::families {
namespace token_split_test {

using testing::ElementsAre;

LayerWorkload small_layer(std::int64_t tokens = 128) {
  return {.tokens = tokens, .hidden = 64, .heads = 8, .kv_heads = 4, .head_dim = 16, .intermediate = 256};
}

std::string operands(const Schedule& schedule, const std::string& name) {
  for (const Operation& operation : schedule.operations)
    if (operation.name == name) return operands_of(operation, schedule);
  return "no operation " + name;
}

TEST(TokenSplit, ReducesOneSplitWhileTheOtherIsComputed) {
  const std::vector<std::string> program = program_of(build_case(small_layer(), 2, TokenSplit{48}));
  constexpr int operations_of_layer = 22;
  const auto layer_1 = program.begin() + operations_of_layer;
  EXPECT_THAT(
      std::vector(layer_1, layer_1 + operations_of_layer),
      ElementsAre("s1: layer 0 mlp all_reduce of split 2 after layer 0 down of split 2",  //
                  "s1: layer 0 mlp add_rms_norm of split 2",
                  "s0: layer 1 qkv of split 1 after layer 0 mlp add_rms_norm of split 1",  //
                  "s0: layer 1 rotary of split 1", "s0: layer 1 attention of split 1", "s0: layer 1 o of split 1",
                  "s1: layer 1 attention all_reduce of split 1 after layer 1 o of split 1",
                  "s1: layer 1 attention add_rms_norm of split 1",
                  "s0: layer 1 qkv of split 2 after layer 0 mlp add_rms_norm of split 2",  //
                  "s0: layer 1 rotary of split 2", "s0: layer 1 attention of split 2", "s0: layer 1 o of split 2",
                  "s1: layer 1 attention all_reduce of split 2 after layer 1 o of split 2",
                  "s1: layer 1 attention add_rms_norm of split 2",
                  "s0: layer 1 gate_up of split 1 after layer 1 attention add_rms_norm of split 1",
                  "s0: layer 1 swiglu of split 1", "s0: layer 1 down of split 1",
                  "s1: layer 1 mlp all_reduce of split 1 after layer 1 down of split 1",
                  "s1: layer 1 mlp add_rms_norm of split 1",
                  "s0: layer 1 gate_up of split 2 after layer 1 attention add_rms_norm of split 2",
                  "s0: layer 1 swiglu of split 2", "s0: layer 1 down of split 2"));
}

TEST(TokenSplit, BeginsWithWhatTheLastLayerOfTheIterationBeforeHasLeft) {
  const Schedule schedule = build_case(small_layer(), 2, TokenSplit{48});
  EXPECT_EQ(program_of(schedule).front(), "s1: layer 5 mlp all_reduce of split 2");
  EXPECT_EQ(schedule.repeats_per_iteration, 6);
  EXPECT_EQ(schedule.streams[1].priority, -5);
}

TEST(TokenSplit, SplitsAreRowsOfTheSameActivations) {
  const Schedule schedule = build_case(small_layer(), 2, TokenSplit{48});
  EXPECT_EQ(operands(schedule, "layer 0 qkv of split 2"),
            "normed[48:128, 0:64] x layer 0 qkv weight[0:128, 0:64] -> qkv[48:128, 0:128]");
  EXPECT_EQ(operands(schedule, "layer 0 mlp all_reduce of split 1"),
            "mlp partial[0:48, 0:64] -> mlp partial[0:48, 0:64]");
}

TEST(TokenSplit, TheSecondSplitAttendsToTheFirst) {
  const std::vector<Attention> attentions = all_of_kind<Attention>(build_case(small_layer(), 2, TokenSplit{48}));
  EXPECT_EQ(attentions[0].prefix, 0);
  EXPECT_EQ(attentions[1].prefix, 48);
}

TEST(TokenSplit, SearchedSplitsAreTheMiddleOrWholeTilesNearIt) {
  const auto searched = [](std::int64_t tokens) {
    const Case request = make_case(small_layer(tokens), 2, TokenSplit{});
    std::vector<std::int64_t> firsts;
    for (const ScheduleChoice& choice : closed_choices(request, round_machine()))
      firsts.push_back(*std::get<TokenSplit>(choice.family).first);
    return firsts;
  };
  for (const std::int64_t first : searched(4000)) {
    EXPECT_TRUE(first == 2000 || first % 128 == 0) << first;
    EXPECT_LE(std::abs(first - 2000), 1000);
  }
  EXPECT_EQ(searched(100), std::vector<std::int64_t>{50});
}

TEST(TokenSplit, WaveAwareSplitsTakeNoMoreWavesThanTheWhole) {
  // The paper's example (arXiv 2505.11329, section 3.1.1): 300 CTAs on 132 SMs are 3 waves, as 150 + 150 they are 4.
  EXPECT_EQ(wave_aware_first(300, 132), 132);
  const auto waves = [](std::int64_t ctas, std::int64_t sms) { return (ctas + sms - 1) / sms; };
  for (const std::int64_t sms : {16, 100, 132})
    for (std::int64_t ctas = sms + 1; ctas < 20 * sms; ctas += 7) {
      const std::int64_t first = wave_aware_first(ctas, sms);
      EXPECT_EQ(waves(first, sms) + waves(ctas - first, sms), waves(ctas, sms)) << ctas << " CTAs on " << sms;
      EXPECT_LE(std::abs(2 * first - ctas), sms) << ctas << " CTAs on " << sms;
    }
  EXPECT_EQ(wave_aware_first(100, 132), 50);
}

TEST(TokenSplit, CandidatesAreDistinctSplitsThatTheFusedKernelCanTake) {
  for (const bool fused_norm : {false, true})
    for (const std::int64_t tokens : {17, 300, 1024, 5000}) {
      const std::vector<std::int64_t> firsts = first_candidates(small_layer(tokens), 8, fused_norm, round_machine(), 6);
      EXPECT_FALSE(firsts.empty());
      EXPECT_EQ(std::set(firsts.begin(), firsts.end()).size(), firsts.size());
      for (const std::int64_t first : firsts) {
        EXPECT_GE(first, 1);
        EXPECT_LT(first, tokens);
        EXPECT_EQ(first % (fused_norm ? 8 : 1), 0);
      }
    }
}

// GEMMs alone may take less time in other splits, which transfers do not hide as well.
TEST(TokenSplit, TheMiddleIsAlwaysACandidate) {
  for (const std::int64_t tokens : {1024, 2050, 3000})
    EXPECT_EQ(first_candidates(small_layer(tokens), 8, false, round_machine(), 1), std::vector{(tokens + 1) / 2});
}

TEST(TokenSplit, ASearchedSplitStandsForTheBestCandidates) {
  const Case request = make_case(small_layer(4096), 2, TokenSplit{});
  std::vector<std::int64_t> firsts;
  for (const ScheduleChoice& choice : closed_choices(request, round_machine()))
    firsts.push_back(*std::get<TokenSplit>(choice.family).first);
  EXPECT_EQ(firsts, first_candidates(small_layer(4096), 2, false, round_machine(), 4));
}

TokenSplit fused(std::int64_t first, int ctas = 4) {
  TokenSplit split{first, true};
  split.comm_ctas = ctas;
  return split;
}

TEST(TokenSplit, FusedNormIsOneKernelForEachReduction) {
  const Schedule schedule = build_case(small_layer(), 2, fused(48));
  EXPECT_TRUE(all_of_kind<Collective>(schedule).empty());
  EXPECT_EQ(program_of(schedule).front(), "s1: layer 5 mlp all_reduce_norm of split 2");
  EXPECT_EQ(operands(schedule, "layer 0 mlp all_reduce_norm of split 1"),
            "mlp partial[0:48, 0:64], residual[0:48, 0:64] -> normed[0:48, 0:64]");
  EXPECT_EQ(all_of_kind<AllReduceNorm>(schedule).size(), 6u * 4u);
}

TEST(TokenSplit, FusedNormUsesMulticastWhereTheSwitchHasIt) {
  Machine machine = round_machine();
  const Case request = make_case(small_layer(), 2, fused(48));
  EXPECT_EQ(all_of_kind<AllReduceNorm>(build(request, machine)).front().transport, Transport::peer_kernel);
  machine.fabric.multicast = true;
  EXPECT_EQ(all_of_kind<AllReduceNorm>(build(request, machine)).front().transport, Transport::multicast);
}

TEST(TokenSplit, CtasAreThoseOfTheBlockAndNoMoreThanRowsOfARank) {
  TokenSplit split = fused(112, 8);
  split.mlp_comm_ctas = 2;
  const Schedule schedule = build_case(small_layer(), 4, split);
  const auto ctas = [&](const std::string& name) {
    for (const Operation& operation : schedule.operations)
      if (operation.name == name) return std::get<AllReduceNorm>(operation.work).ctas;
    return 0;
  };
  EXPECT_EQ(ctas("layer 1 attention all_reduce_norm of split 1"), 8);
  EXPECT_EQ(ctas("layer 1 attention all_reduce_norm of split 2"), 4);
  EXPECT_EQ(ctas("layer 1 mlp all_reduce_norm of split 1"), 2);
}

TEST(TokenSplit, TheLastRowsAreFilledUpToAMultipleOfTheGpus) {
  const Schedule schedule = build_case(small_layer(125), 4, fused(64));
  EXPECT_EQ(operands(schedule, "layer 0 mlp all_reduce_norm of split 2"),
            "mlp partial[64:128, 0:64], residual[64:128, 0:64] -> normed[64:128, 0:64]");
  EXPECT_EQ(operands(schedule, "layer 0 qkv of split 2"),
            "normed[64:125, 0:64] x layer 0 qkv weight[0:64, 0:64] -> qkv[64:125, 0:64]");
}

TEST(TokenSplit, WhatTheFusedKernelCannotDoIsRefused) {
  EXPECT_EQ(build_error(small_layer(), 4, fused(50)),
            "schedule.first: expected a multiple of gpus = 4, since each GPU norms its share of the rows, got 50");
  EXPECT_EQ(build_error(small_layer(), 4, fused(48, 200)),
            "schedule.comm_ctas: expected at most the 100 SMs of round, got 200");
  EXPECT_EQ(build_error(small_layer(7), 8, TokenSplit{std::nullopt, true}),
            "workload.tokens: expected enough for two splits of whole sequences, a multiple of gpus = 8 each, got 7");
  Machine machine = round_machine();
  machine.fused_norm_kernel->peer.reset();
  const Case request = make_case(small_layer(), 2, fused(48));
  EXPECT_EQ(error_of([&] { build(request, machine); }),
            "schedule.fused_norm: expected direct_collectives.two_shot or fused_norm_kernel.peer in the profile, which "
            "round does not have, got peer_kernel");
}

TEST(TokenSplit, BothSplitsNeedTokens) {
  EXPECT_EQ(build_error(small_layer(), 2, TokenSplit{128}),
            "schedule.first: expected fewer than the 128 tokens, got 128");
  EXPECT_NE(build_error(small_layer(1), 2, TokenSplit{}), "");
}

TEST(TokenSplit, WhatItCannotOverlapIsRefused) {
  LayerWorkload sequence_parallel = small_layer();
  sequence_parallel.sequence_parallel = true;
  EXPECT_NE(build_error(sequence_parallel, 2, TokenSplit{48}).find("workload.sequence_parallel: "), std::string::npos);
  EXPECT_NE(build_error(small_layer(), 1, TokenSplit{48}).find("gpus: "), std::string::npos);
  EXPECT_EQ(build_error(GemmWorkload{64, 32, 16}, 2, TokenSplit{48}),
            "schedule.family: expected the op that token_split has (transformer_layer), got gemm");
}

}  // namespace token_split_test
}  // namespace weft::scenarios::families
