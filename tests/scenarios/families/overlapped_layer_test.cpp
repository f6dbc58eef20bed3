// Layers whose GEMMs and collectives overlap, pair by pair.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "models/check/hardware_support.hpp"
#include "models/machine/machine_json.hpp"
#include "scenarios/families/build.hpp"
#include "tests/scenarios/program_text.hpp"
#include "tests/source_folder.hpp"

namespace weft::scenarios::families {
namespace overlapped_layer_test {

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

LayerWorkload layer_of_tiles() {
  LayerWorkload layer = small_layer(false);
  layer.tokens = 512, layer.hidden = 1024, layer.intermediate = 1024, layer.head_dim = 64;
  return layer;
}

TEST(OverlappedLayer, SignalingLeavesTilesToTheNextNorm) {
  const Schedule schedule = build_case(layer_of_tiles(), 2, Signaling{{1}});
  EXPECT_THAT(second_layer(schedule),
              testing::IsSupersetOf({"s0: o gemm", "s1: o wait 0 after attention", "s1: o all_reduce 0",
                                     "s0: attention add_rms_norm after o all_reduce 0", "s0: down gemm"}));
  for (const Buffer& buffer : schedule.buffers)
    EXPECT_EQ(buffer.layout.kind == LayoutKind::tile_ordered, buffer.name == "c") << buffer.name;
}

TEST(OverlappedLayer, SignalingRunsWhereOurKernelsDo) {
  const Machine h200 = read_machine(tests::source_folder() + "/calibration/machines/h200x8-nvswitch.json");
  const LayerWorkload layer{
      .tokens = 2048, .hidden = 4096, .heads = 32, .kv_heads = 8, .head_dim = 128, .intermediate = 14336};
  Case request = make_case(layer, 2, Signaling{});
  const std::vector<ScheduleChoice> choices = closed_choices(request, h200);
  ASSERT_FALSE(choices.empty());
  request.schedule = choices.front();
  const auto refusal = why_not_runnable(build(request, h200), h200);
  EXPECT_FALSE(refusal) << refusal->what();
}

TEST(OverlappedLayer, SearchedSignalingHasGroupsForEachPair) {
  const std::vector<ScheduleChoice> choices =
      closed_choices(make_case(layer_of_tiles(), 2, Signaling{}), round_machine());
  ASSERT_FALSE(choices.empty());
  for (const ScheduleChoice& choice : choices) {
    const auto& pairs = std::get<Pairs>(choice.family);
    EXPECT_FALSE(pairs.qkv || pairs.gate_up);
    for (const auto& pair : {pairs.o, pairs.down})
      EXPECT_FALSE(std::get<Signaling>(pair.value().family).groups.empty());
  }
}

TEST(OverlappedLayer, PairsRunEachInItsOwnWay) {
  const Schedule schedule = build_case(small_layer(true), 2,
                                       Pairs{.qkv = PairSchedule{AsyncTp{}},
                                             .gate_up = PairSchedule{Decomposition{2}, 4},
                                             .down = PairSchedule{Decomposition{2}}});
  EXPECT_THAT(second_layer(schedule),
              testing::IsSupersetOf({"s1: qkv pull 1 after qkv published", "s0: attention reduce_scatter",
                                     "s0: gate_up gemm 1 after gate_up all_gather 1"}));
  EXPECT_EQ(schedule.streams.size(), 3u);  // async TP's is an ordinary one
  std::vector<int> max_ctas;
  for (const Collective& collective : all_of_kind<Collective>(schedule)) max_ctas.push_back(collective.max_ctas);
  EXPECT_EQ(std::count(max_ctas.begin(), max_ctas.end(), 4), 6 * 2);
}

TEST(OverlappedLayer, PairsThatOrderRowsOtherwiseAreErrors) {
  EXPECT_EQ(
      build_error(small_layer(true), 2, Pairs{.qkv = PairSchedule{AsyncTp{}}, .o = PairSchedule{Decomposition{2}}}),
      "schedule: expected rows that are scattered after o as they were gathered before, in 1 chunks, got 2");
  EXPECT_EQ(build_error(small_layer(true), 2, Pairs{.gate_up = PairSchedule{Decomposition{4}}}),
            "schedule: expected rows that are scattered after down as they were gathered before, in 4 chunks, got 1");
  EXPECT_EQ(build_error(small_layer(false), 2, Pairs{.qkv = PairSchedule{AsyncTp{}}}),
            "schedule.qkv: expected none: this layer has no such pair");
  EXPECT_EQ(build_error(experts_layer(true), 2, Pairs{.down = PairSchedule{AsyncTp{}}}),
            "schedule.down: expected none: this layer has no such pair");
  EXPECT_EQ(build_error(small_layer(true), 2, Pairs{.o = PairSchedule{Signaling{{1}}}}),
            "workload.sequence_parallel: expected false: signaling stores rows in an order of its own, which ranks "
            "would keep");
  EXPECT_EQ(build_error(PairWorkload{PairOp::gemm_all_reduce, 64, 32, 16}, 2, Pairs{}),
            "schedule.family: expected the op that pairs has (transformer_layer), got gemm+all_reduce");
}

TEST(OverlappedLayer, SequencesAreAttendedToByThemselves) {
  LayerWorkload layer = small_layer(false);
  layer.tokens = 12, layer.sequences = 4, layer.prefix = 100;
  const Schedule serial = build_case(layer, 2);
  const Attention attention = all_of_kind<Attention>(serial).front();
  EXPECT_EQ(attention.sequences, 4);
  EXPECT_EQ(attention.prefix, 0);
  EXPECT_EQ(text_of(attention.cached.value(), serial), "layer 0 keys and values[0:400, 0:64]");
  EXPECT_FALSE(is_runnable(serial));
  const Schedule split = build_case(layer, 2, TokenSplit{.first = 9});
  const Attention second = all_of_kind<Attention>(split).at(1);
  EXPECT_EQ(second.sequences, 1);
  EXPECT_EQ(text_of(second.cached.value(), split), "layer 0 keys and values[300:400, 0:64]");
  EXPECT_EQ(build_error(layer, 2, TokenSplit{.first = 8}),
            "schedule.first: expected whole sequences, a multiple of 3 tokens, got 8");
}

TEST(OverlappedLayer, SequencesThatDecodeBesideOthersHaveAnAttentionOfTheirOwn) {
  LayerWorkload layer = small_layer(false);
  layer.tokens = 20, layer.sequences = 4, layer.prefix = 100;  // rows 8 to 20, three of each
  layer.decoding = 8, layer.decoding_prefix = 50;
  const Schedule serial = build_case(layer, 2);
  const std::vector<Attention> attentions = all_of_kind<Attention>(serial);
  EXPECT_EQ(attentions[0].sequences, 8);
  EXPECT_EQ(text_of(attentions[0].qkv, serial), "qkv[0:8, 0:128]");
  EXPECT_EQ(text_of(attentions[0].cached.value(), serial), "layer 0 decode keys and values[0:400, 0:64]");
  EXPECT_EQ(attentions[1].sequences, 4);
  EXPECT_EQ(text_of(attentions[1].qkv, serial), "qkv[8:20, 0:128]");
  EXPECT_EQ(text_of(attentions[1].cached.value(), serial), "layer 0 keys and values[0:400, 0:64]");

  const Schedule split = build_case(layer, 2, TokenSplit{.first = 14});  // two sequences behind those that decode
  const std::vector<Attention> of_split = all_of_kind<Attention>(split);
  EXPECT_EQ(text_of(of_split[0].qkv, split), "qkv[0:8, 0:128]");
  EXPECT_EQ(text_of(of_split[1].qkv, split), "qkv[8:14, 0:128]");
  EXPECT_EQ(text_of(of_split[2].cached.value(), split), "layer 0 keys and values[200:400, 0:64]");
  const Schedule early = build_case(layer, 2, TokenSplit{.first = 5});  // among those that decode
  EXPECT_EQ(text_of(all_of_kind<Attention>(early)[1].cached.value(), early),
            "layer 0 decode keys and values[250:400, 0:64]");
  EXPECT_EQ(build_error(layer, 2, TokenSplit{.first = 12}),
            "schedule.first: expected whole sequences, which begin at row 8, a multiple of 3 tokens, got 12");
}

TEST(OverlappedLayer, SequencesThatCannotDecodeBesideOthersAreRefused) {
  LayerWorkload layer = small_layer(false);
  layer.decoding = layer.tokens;
  EXPECT_EQ(build_error(layer, 2),
            "workload.decoding: expected fewer than tokens = 128 (where all decode, sequences says so), got 128");
  layer.decoding = 0, layer.decoding_prefix = 9;
  EXPECT_EQ(build_error(layer, 2), "workload.decoding: expected how many sequences decode, since decoding_prefix is 9");
  layer.decoding = 100, layer.sequences = 5;
  EXPECT_EQ(build_error(layer, 2),
            "workload.sequences: expected a divisor of the tokens that do not decode, 28, got 5");
}

TEST(OverlappedLayer, AChunkOfAPrefillSeesWhatIsCachedAndItsOwnEarlierRows) {
  LayerWorkload layer = small_layer(false);
  layer.prefix = 1000;
  const Schedule split = build_case(layer, 2, TokenSplit{.first = 48});
  const Attention second = all_of_kind<Attention>(split).at(1);
  EXPECT_EQ(second.prefix, 48);
  EXPECT_EQ(text_of(second.cached.value(), split), "layer 0 keys and values[0:1000, 0:64]");
  EXPECT_EQ(earlier_tokens(second), 1048);
}

TEST(OverlappedLayer, SequencesThatCannotBeAreErrors) {
  LayerWorkload layer = small_layer(false);
  layer.sequences = 3;
  EXPECT_EQ(build_error(layer, 2), "workload.sequences: expected a divisor of tokens = 128, got 3");
  layer.sequences = 0;
  EXPECT_EQ(build_error(layer, 2), "workload.sequences: expected an integer from 1 to 2147483647, got 0");
  layer.sequences = 128;
  layer.prefix = max_extent - 1;
  EXPECT_EQ(build_error(layer, 2).substr(0, 36), "workload.prefix: expected matrices o");
  layer.tokens = layer.sequences = 1 << 20;
  layer.prefix = 0;
  EXPECT_EQ(build_error(layer, 2), "workload.sequences: expected at most 262144 sequences of 8 heads, got 1048576");
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

}  // namespace overlapped_layer_test
}  // namespace weft::scenarios::families
