#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenarios/builders/build.hpp"
#include "tests/scenarios/program_text.hpp"

namespace weft::scenarios {
namespace {

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

TEST(TokenSplit, SearchedSplitsAreWholeTilesNearTheMiddle) {
  const auto searched = [](std::int64_t tokens) {
    const Case request = make_case(small_layer(tokens), 2, TokenSplit{});
    return *std::get<TokenSplit>(with_searched_values(request, round_machine()).family).first;
  };
  EXPECT_EQ(searched(4000) % 128, 0);
  EXPECT_LE(std::abs(searched(4000) - 2000), 2 * 128);
  EXPECT_EQ(searched(100), 50);
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
  EXPECT_NE(build_error(small_layer(), 2, TokenSplit{48, true}).find("schedule.fused_norm: "), std::string::npos);
  EXPECT_EQ(build_error(GemmWorkload{64, 32, 16}, 2, TokenSplit{48}),
            "schedule.family: expected the op that token_split has (transformer_layer), got gemm");
}

}  // namespace
}  // namespace weft::scenarios
