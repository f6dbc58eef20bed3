// Layers whose GEMMs and collectives overlap, pair by pair.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "models/check/hardware_support.hpp"
#include "tests/scenarios/program_text.hpp"

namespace weft::scenarios::families {
namespace {

using testing::ElementsAre;

LayerWorkload small_layer(bool sequence_parallel) {
  return {.tokens = 128,
          .hidden = 64,
          .heads = 8,
          .kv_heads = 4,
          .head_dim = 16,
          .intermediate = 256,
          .dtype = DataType::bf16,
          .sequence_parallel = sequence_parallel};
}

LayerWorkload experts_layer(bool sequence_parallel) {
  LayerWorkload layer = small_layer(sequence_parallel);
  layer.experts = 8;
  layer.experts_per_token = 2;
  return layer;
}

/// The operations of the second of six layers, without "layer 1 ".
std::vector<std::string> second_layer(const Schedule& schedule) {
  std::vector<std::string> lines;
  for (std::string line : program_of(schedule)) {
    if (line.find(": layer 1 ") == std::string::npos) continue;
    for (auto at = line.find("layer 1 "); at != std::string::npos; at = line.find("layer 1 ")) line.erase(at, 8);
    lines.push_back(line);
  }
  return lines;
}

std::string operands(const Schedule& schedule, const std::string& name) {
  for (const Operation& operation : schedule.operations)
    if (operation.name == name) return operands_of(operation, schedule);
  return "no operation " + name;
}

TEST(OverlappedLayer, ChunksOfAPairStandInThePlaceOfItsGemm) {
  EXPECT_THAT(second_layer(build_case(small_layer(false), 2, Decomposition{2})),
              ElementsAre("s0: qkv", "s0: rotary", "s0: attention", "s0: o gemm 0",
                          "s1: o all_reduce 0 after attention after o gemm 0", "s0: o gemm 1",
                          "s1: o all_reduce 1 after o gemm 1", "s0: attention add_rms_norm after o all_reduce 1",
                          "s0: gate_up", "s0: swiglu", "s0: down gemm 0",
                          "s1: down all_reduce 0 after swiglu after down gemm 0", "s0: down gemm 1",
                          "s1: down all_reduce 1 after down gemm 1", "s0: mlp add_rms_norm after down all_reduce 1"));
}

TEST(OverlappedLayer, SequenceParallelEachGemmHasACollective) {
  const Schedule schedule = build_case(small_layer(true), 2, Decomposition{2});
  EXPECT_THAT(
      second_layer(schedule),
      ElementsAre("s1: qkv all_gather 0 after layer 0 mlp add_rms_norm", "s0: qkv gemm 0 after qkv all_gather 0",
                  "s1: qkv all_gather 1", "s0: qkv gemm 1 after qkv all_gather 1", "s0: rotary after qkv all_gather 1",
                  "s0: attention", "s0: o gemm 0", "s1: o reduce_scatter 0 after attention after o gemm 0",
                  "s0: o gemm 1", "s1: o reduce_scatter 1 after o gemm 1",
                  "s0: attention add_rms_norm after o reduce_scatter 1",
                  "s1: gate_up all_gather 0 after attention add_rms_norm",
                  "s0: gate_up gemm 0 after gate_up all_gather 0", "s1: gate_up all_gather 1",
                  "s0: gate_up gemm 1 after gate_up all_gather 1", "s0: swiglu after gate_up all_gather 1",
                  "s0: down gemm 0", "s1: down reduce_scatter 0 after swiglu after down gemm 0", "s0: down gemm 1",
                  "s1: down reduce_scatter 1 after down gemm 1", "s0: mlp add_rms_norm after down reduce_scatter 1"));
  EXPECT_EQ(operands(schedule, "layer 0 qkv all_gather 1"), "normed rows[32:64, 0:64] -> normed[64:128, 0:64]");
  EXPECT_EQ(operands(schedule, "layer 0 qkv gemm 1"),
            "normed[64:128, 0:64] x layer 0 qkv weight[0:128, 0:64] -> qkv[64:128, 0:128]");
  EXPECT_EQ(operands(schedule, "layer 0 o reduce_scatter 0"), "c[0:64, 0:64] -> reduced rows[0:32, 0:64]");
  EXPECT_EQ(operands(schedule, "layer 0 mlp add_rms_norm"),
            "reduced rows[0:64, 0:64], residual[0:64, 0:64] -> normed rows[0:64, 0:64], residual[0:64, 0:64]");
}

TEST(OverlappedLayer, AsyncTpPullsTheOwnRowsOfPeersAndSumsWhatTheySend) {
  const Schedule schedule = build_case(small_layer(true), 2, AsyncTp{});
  EXPECT_EQ(operands(schedule, "layer 0 gate_up publish"), "normed rows[0:64, 0:64] -> published[0:64, 0:64]");
  EXPECT_EQ(operands(schedule, "layer 0 gate_up pull 1"), "published@1[0:64, 0:64] -> normed[64:128, 0:64]");
  EXPECT_EQ(operands(schedule, "layer 0 gate_up gemm 1"),
            "normed[64:128, 0:64] x layer 0 gate_up weight[0:256, 0:64] -> gate_up[64:128, 0:256]");
  EXPECT_EQ(operands(schedule, "layer 3 down sum"), "partials[0:128, 0:64] -> reduced rows[0:64, 0:64]");
  EXPECT_TRUE(all_of_kind<Collective>(schedule).empty());
  EXPECT_EQ(schedule.streams.size(), 2u);
}

TEST(OverlappedLayer, SymmetricInputIsWhereTheNormWritesIt) {
  const Schedule schedule = build_case(small_layer(true), 2, AsyncTp{AsyncInput::symmetric, AsyncForm::rotating});
  EXPECT_EQ(operands(schedule, "layer 0 qkv pull 1"), "normed rows@1[0:64, 0:64] -> normed[64:128, 0:64]");
  EXPECT_EQ(operands(schedule, "layer 0 o add 1"),
            "arrived[0:64, 0:64], product[0:64, 0:64] -> reduced rows[0:64, 0:64]");
  for (const Buffer& buffer : schedule.buffers)
    EXPECT_EQ(buffer.memory == Memory::symmetric,
              buffer.name == "normed rows" || buffer.name.starts_with("accumulator"))
        << buffer.name;
}

TEST(OverlappedLayer, SixLayersShareTheirBuffersAndStreams) {
  for (const Family& family :
       {Family{Decomposition{2}}, Family{AsyncTp{}},
        Family{Hybrid{.mover = HybridMover::push, .pieces = HybridPieces::shards, .count = 1}}}) {
    const Schedule schedule = build_case(small_layer(true), 4, family);
    EXPECT_EQ(schedule.repeats_per_iteration, 6);
    EXPECT_EQ(std::count_if(schedule.buffers.begin(), schedule.buffers.end(),
                            [](const Buffer& buffer) { return buffer.name.find(" weight") != std::string::npos; }),
              6 * 4);
    EXPECT_LE(schedule.buffers.size(), 6u * 4u + 14u) << schedule.name;
    EXPECT_LE(schedule.streams.size(), 2u);
  }
}

TEST(OverlappedLayer, ExpertsKeepTheirCollectives) {
  EXPECT_THAT(
      second_layer(build_case(experts_layer(true), 2, AsyncTp{})),
      testing::IsSupersetOf({"s0: attention all_gather", "s0: router", "s0: weighted_sum", "s0: mlp reduce_scatter"}));
  EXPECT_THAT(second_layer(build_case(experts_layer(false), 2, Decomposition{2})),
              testing::IsSupersetOf({"s0: o gemm 1", "s0: down", "s0: mlp all_reduce"}));
}

TEST(OverlappedLayer, RunsOnGpusAsItsPairsDo) {
  LayerWorkload layer = small_layer(true);
  layer.head_dim = 64;
  for (const Family& family : {Family{Serial{}}, Family{Decomposition{2}}, Family{AsyncTp{}}})
    EXPECT_TRUE(is_runnable(build_case(layer, 2, family)));
  EXPECT_FALSE(is_runnable(build_case(experts_layer(true), 2, AsyncTp{})));  // grouped GEMMs
}

TEST(OverlappedLayer, WhatDoesNotFitIsAnError) {
  EXPECT_EQ(build_error(small_layer(false), 2, AsyncTp{}),
            "workload.sequence_parallel: expected true: async_tp overlaps all-gathers and reduce-scatters, not "
            "all-reduces");
  EXPECT_EQ(build_error(small_layer(false), 1, Decomposition{2}),
            "gpus: expected at least 2 for a transfer to overlap, got 1");
  EXPECT_EQ(build_error(small_layer(true), 2, Decomposition{3}),
            "workload.tokens: expected a multiple of gpus x chunks = 6, got 128");
  EXPECT_EQ(build_error(small_layer(true), 3, Decomposition{2}),
            "workload.heads: expected a multiple of gpus = 3, got 8");
  EXPECT_EQ(build_error(small_layer(true), 2,
                        Hybrid{.mover = HybridMover::push, .pieces = HybridPieces::columns, .count = 3}),
            "schedule.count: expected a divisor of the 64 columns");
  EXPECT_EQ(build_error(small_layer(true), 2, Concurrent{}),
            "schedule.family: expected the op that concurrent has (gemm||all_reduce), got transformer_layer");
}

}  // namespace
}  // namespace weft::scenarios::families
