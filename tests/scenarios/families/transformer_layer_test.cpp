#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/base/input_error.hpp"
#include "models/check/validation.hpp"
#include "scenarios/expert_rows.hpp"
#include "scenarios/families/build.hpp"
#include "tests/scenarios/program_text.hpp"

namespace weft::scenarios::families {
namespace transformer_layer_test {

using testing::ElementsAre;

LayerWorkload small_layer(bool sequence_parallel = false) {
  return {.tokens = 128,
          .hidden = 64,
          .heads = 8,
          .kv_heads = 4,
          .head_dim = 16,
          .intermediate = 256,
          .dtype = DataType::bf16,
          .sequence_parallel = sequence_parallel};
}

/// The operations of the second of six layers, without "s0: layer 1 ".
std::vector<std::string> second_layer(const Schedule& schedule) {
  std::vector<std::string> names;
  for (const std::string& line : program_of(schedule))
    if (line.rfind("s0: layer 1 ", 0) == 0) names.push_back(line.substr(12));
  return names;
}

std::string operands(const Schedule& schedule, const std::string& name) {
  for (const Operation& operation : schedule.operations)
    if (operation.name == name) return operands_of(operation, schedule);
  return "no operation " + name;
}

TEST(TransformerLayer, RunsItsKernelsInOrderOnOneStream) {
  EXPECT_THAT(second_layer(build_case(small_layer(), 2)),
              ElementsAre("qkv", "rotary", "attention", "o", "attention all_reduce", "attention add_rms_norm",
                          "gate_up", "swiglu", "down", "mlp all_reduce", "mlp add_rms_norm"));
}

TEST(TransformerLayer, SequenceParallelNormsTheOwnRowsBetweenScatterAndGather) {
  const Schedule schedule = build_case(small_layer(true), 2);
  EXPECT_THAT(second_layer(schedule), ElementsAre("qkv", "rotary", "attention", "o", "attention reduce_scatter",
                                                  "attention add_rms_norm", "attention all_gather", "gate_up", "swiglu",
                                                  "down", "mlp reduce_scatter", "mlp add_rms_norm", "mlp all_gather"));
  EXPECT_EQ(operands(schedule, "layer 0 mlp reduce_scatter"), "mlp partial[0:128, 0:64] -> reduced rows[0:64, 0:64]");
  EXPECT_EQ(operands(schedule, "layer 0 mlp add_rms_norm"),
            "reduced rows[0:64, 0:64], residual[0:64, 0:64] -> normed rows[0:64, 0:64], residual[0:64, 0:64]");
  EXPECT_EQ(operands(schedule, "layer 0 mlp all_gather"), "normed rows[0:64, 0:64] -> normed[0:128, 0:64]");
}

TEST(TransformerLayer, OneGpuHasNothingToReduce) {
  EXPECT_THAT(second_layer(build_case(small_layer(), 1)),
              ElementsAre("qkv", "rotary", "attention", "o", "attention add_rms_norm", "gate_up", "swiglu", "down",
                          "mlp add_rms_norm"));
}

TEST(TransformerLayer, SixLayersShareOneIteration) {
  const Schedule schedule = build_case(small_layer(), 2);
  EXPECT_EQ(schedule.operations.size(), 6u * 11u);
  EXPECT_EQ(schedule.repeats_per_iteration, 6);
  EXPECT_EQ(schedule.streams.size(), 1u);
}

TEST(TransformerLayer, HeadsAndWidthAreSplitOverTheGpus) {
  const Schedule schedule = build_case(small_layer(), 2);
  // 4 query heads, 2 + 2 of keys and values, of 16 columns each; 256 / 2 of the MLP.
  EXPECT_EQ(operands(schedule, "layer 0 qkv"),
            "normed[0:128, 0:64] x layer 0 qkv weight[0:128, 0:64] -> qkv[0:128, 0:128]");
  EXPECT_EQ(operands(schedule, "layer 0 rotary"), "qkv[0:128, 0:96] -> qkv[0:128, 0:96]");
  EXPECT_EQ(operands(schedule, "layer 0 attention"), "qkv[0:128, 0:128] -> attended[0:128, 0:64]");
  EXPECT_EQ(operands(schedule, "layer 0 o"),
            "attended[0:128, 0:64] x layer 0 o weight[0:64, 0:64] -> attention partial[0:128, 0:64]");
  EXPECT_EQ(operands(schedule, "layer 0 gate_up"),
            "normed[0:128, 0:64] x layer 0 gate_up weight[0:256, 0:64] -> gate_up[0:128, 0:256]");
  EXPECT_EQ(operands(schedule, "layer 0 swiglu"), "gate_up[0:128, 0:256] -> activated[0:128, 0:128]");
  EXPECT_EQ(operands(schedule, "layer 0 down"),
            "activated[0:128, 0:128] x layer 0 down weight[0:64, 0:128] -> mlp partial[0:128, 0:64]");
}

TEST(TransformerLayer, KeysAreReplicatedOnGpusBeyondTheirNumber) {
  const Attention attention = all_of_kind<Attention>(build_case(small_layer(), 8)).at(0);
  EXPECT_EQ(attention.heads, 1);
  EXPECT_EQ(attention.kv_heads, 1);
}

TEST(TransformerLayer, EveryLayerHasWeightsOfItsOwn) {
  const Schedule schedule = build_case(small_layer(), 2);
  EXPECT_NE(operands(schedule, "layer 0 down"), operands(schedule, "layer 1 down"));
}

TEST(TransformerLayer, SizesThatCannotBeSplitAreErrors) {
  LayerWorkload layer = small_layer();
  EXPECT_EQ(build_error(layer, 3), "workload.heads: expected a multiple of gpus = 3, got 8");
  layer.heads = 12;
  layer.kv_heads = 4;
  EXPECT_EQ(build_error(layer, 6), "workload.intermediate: expected a multiple of gpus = 6, got 256");
  layer.intermediate = 258;
  EXPECT_EQ(build_error(layer, 6), "workload.kv_heads: expected a multiple or a divisor of gpus = 6, got 4");
}

LayerWorkload experts_layer() {
  LayerWorkload layer = small_layer();
  layer.experts = 8;
  layer.experts_per_token = 2;
  return layer;
}

TEST(ExpertRows, AreEvenUnlessTheRouterIsNot) {
  LayerWorkload layer = experts_layer();
  EXPECT_EQ(expert_rows(128, layer), std::vector<std::int64_t>(8, 32));
  EXPECT_EQ(expert_rows(3, layer), (std::vector<std::int64_t>{1, 1, 1, 1, 1, 1, 0, 0}));
  layer.expert_imbalance = 2;  // 64, and 192 over the other seven
  EXPECT_EQ(expert_rows(128, layer), (std::vector<std::int64_t>{64, 28, 28, 28, 27, 27, 27, 27}));
  layer.expert_imbalance = 4;  // no expert gets a token twice
  EXPECT_EQ(expert_rows(128, layer).front(), 128);
}

// Of 8 experts a token goes to 2: three tokens leave each out with probability (3/4)^3, so that 4.6 are expected.
TEST(ExpertRows, OfFewTokensThatChooseByChanceAreOfFewerExperts) {
  LayerWorkload layer = experts_layer();
  layer.expert_choice = ExpertChoice::random;
  EXPECT_EQ(expert_rows(3, layer), (std::vector<std::int64_t>{2, 1, 1, 1, 1, 0, 0, 0}));
  EXPECT_EQ(expert_rows(1, layer), (std::vector<std::int64_t>{1, 1, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(expert_rows(128, layer), std::vector<std::int64_t>(8, 32));
}

TEST(TransformerLayer, OnlyGemmsReadPackedWeights) {
  LayerWorkload layer = experts_layer();
  layer.weight_bits = 8;
  layer.expert_bits = 4.25;
  const Schedule schedule = build_case(layer, 2);
  validate(schedule);
  for (const Gemm& gemm : all_of_kind<Gemm>(schedule))
    EXPECT_EQ(schedule.buffers[static_cast<std::size_t>(gemm.b.buffer)].element_bits, 8);
  for (const GroupedGemm& gemm : all_of_kind<GroupedGemm>(schedule))
    EXPECT_EQ(schedule.buffers[static_cast<std::size_t>(gemm.b.buffer)].element_bits, 4.25);
  EXPECT_EQ(
      std::ranges::count_if(schedule.buffers, is_packed),
      static_cast<std::ptrdiff_t>(all_of_kind<Gemm>(schedule).size() + all_of_kind<GroupedGemm>(schedule).size()));
}

TEST(TransformerLayer, ExpertsTakeTheMlpsPlace) {
  const Schedule schedule = build_case(experts_layer(), 2);
  EXPECT_THAT(second_layer(schedule),
              ElementsAre("qkv", "rotary", "attention", "o", "attention all_reduce", "attention add_rms_norm", "router",
                          "top_k", "gather", "gate_up", "swiglu", "down", "weighted_sum", "mlp all_reduce",
                          "mlp add_rms_norm"));
  EXPECT_EQ(operands(schedule, "layer 0 router"),
            "normed[0:128, 0:64] x layer 0 router weight[0:8, 0:64] -> router logits[0:128, 0:8]");
  EXPECT_EQ(operands(schedule, "layer 0 gather"),
            "normed[0:128, 0:64], normed[0:128, 0:64] -> expert input[0:256, 0:64]");
  EXPECT_EQ(operands(schedule, "layer 0 gate_up"),
            "expert input[0:256, 0:64] x layer 0 gate_up weights[0:2048, 0:64] -> gate_up[0:256, 0:256]");
  EXPECT_EQ(operands(schedule, "layer 0 down"),
            "activated[0:256, 0:128] x layer 0 down weights[0:512, 0:128] -> expert output[0:256, 0:64]");
  EXPECT_EQ(operands(schedule, "layer 0 weighted_sum"),
            "expert output[0:256, 0:64], routing weights[0:128, 0:2] -> mlp partial[0:128, 0:64]");
  EXPECT_EQ(all_of_kind<GroupedGemm>(schedule).front().group_rows, expert_rows(128, experts_layer()));
}

TEST(TransformerLayer, ASharedExpertIsADenseMlpBesideTheRoutedOnes) {
  LayerWorkload layer = experts_layer();
  layer.shared_intermediate = 96;
  const Schedule schedule = build_case(layer, 2);
  EXPECT_THAT(second_layer(schedule),
              ElementsAre("qkv", "rotary", "attention", "o", "attention all_reduce", "attention add_rms_norm", "router",
                          "top_k", "gather", "gate_up", "swiglu", "down", "weighted_sum", "shared gate_up",
                          "shared swiglu", "shared down", "add shared", "mlp all_reduce", "mlp add_rms_norm"));
  EXPECT_EQ(operands(schedule, "layer 0 shared gate_up"),
            "normed[0:128, 0:64] x layer 0 shared gate_up weight[0:96, 0:64] -> shared gate_up[0:128, 0:96]");
  EXPECT_EQ(operands(schedule, "layer 0 shared down"),
            "shared activated[0:128, 0:48] x layer 0 shared down weight[0:64, 0:48] -> shared output[0:128, 0:64]");
  EXPECT_EQ(operands(schedule, "layer 0 add shared"),
            "mlp partial[0:128, 0:64], shared output[0:128, 0:64] -> mlp partial[0:128, 0:64]");
  layer.shared_intermediate = 97;
  EXPECT_EQ(build_error(layer, 2), "workload.shared_intermediate: expected a multiple of gpus = 2, got 97");
  layer.shared_intermediate = std::int64_t{1} << 40;
  EXPECT_NE(build_error(layer, 2), "");
}

Machine machine_with_fp8() {
  Machine machine = round_machine();
  machine.gpu.fp8_speedup = 2;
  return machine;
}

Schedule build_fp8(LayerWorkload layer, int gpus, const Family& family = Serial{}) {
  layer.dtype = DataType::fp8;
  return build(make_case(layer, gpus, family), machine_with_fp8());
}

TEST(TransformerLayer, Fp8GemmsReadWhatNormsAndSwigluAndOneQuantizationStore) {
  const Schedule schedule = build_fp8(small_layer(), 2);
  EXPECT_THAT(second_layer(schedule),
              ElementsAre("qkv", "rotary", "attention", "quantize", "o", "attention all_reduce",
                          "attention add_rms_norm", "gate_up", "swiglu", "down", "mlp all_reduce", "mlp add_rms_norm"));
  EXPECT_EQ(operands(schedule, "layer 0 quantize"), "attended[0:128, 0:64] -> quantized[0:128, 0:64]");
  EXPECT_EQ(operands(schedule, "layer 0 o"),
            "quantized[0:128, 0:64] x layer 0 o weight[0:64, 0:64] -> attention partial[0:128, 0:64]");
  const auto dtype_of = [&](const Slice& slice) { return schedule.buffers[slice.buffer].dtype; };
  for (const Gemm& gemm : all_of_kind<Gemm>(schedule)) {
    EXPECT_EQ(dtype_of(gemm.a), DataType::fp8);
    EXPECT_EQ(dtype_of(gemm.b), DataType::fp8);
    EXPECT_EQ(dtype_of(gemm.c), DataType::bf16);
  }
  for (const Collective& collective : all_of_kind<Collective>(schedule))
    EXPECT_EQ(dtype_of(collective.input), DataType::bf16);
}

TEST(TransformerLayer, SequenceParallelGathersFp8Rows) {
  const Schedule schedule = build_fp8(small_layer(true), 2);
  for (const Collective& collective : all_of_kind<Collective>(schedule))
    EXPECT_EQ(schedule.buffers[collective.input.buffer].dtype,
              collective.kind == CollectiveKind::all_gather ? DataType::fp8 : DataType::bf16);
}

TEST(TransformerLayer, Fp8ExpertsReadFp8Rows) {
  LayerWorkload layer = experts_layer();
  layer.shared_intermediate = 96;
  const Schedule schedule = build_fp8(layer, 2);
  for (const GroupedGemm& gemm : all_of_kind<GroupedGemm>(schedule)) {
    EXPECT_EQ(schedule.buffers[gemm.a.buffer].dtype, DataType::fp8);
    EXPECT_EQ(schedule.buffers[gemm.b.buffer].dtype, DataType::fp8);
    EXPECT_EQ(schedule.buffers[gemm.c.buffer].dtype, DataType::bf16);
  }
}

TEST(TransformerLayer, Fp8NeedsAMachineThatHasIt) {
  LayerWorkload layer = small_layer();
  layer.dtype = DataType::fp8;
  EXPECT_EQ(build_error(layer, 2), "workload.dtype: expected bf16 (round has no fp8), got fp8");
}

TEST(TransformerLayer, TheFusedNormStoresNoFp8) {
  EXPECT_EQ(all_of_kind<Collective>(build_fp8(small_layer(), 2, TokenSplit{.first = 64})).size(), 6u * 4u);
  try {
    build_fp8(small_layer(), 2, TokenSplit{.first = 64, .fused_norm = true});
    FAIL() << "built";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(),
                 "schedule.fused_norm: expected false: the fused kernel stores bf16, which GEMMs of fp8 cannot read");
  }
}

TEST(TransformerLayer, ExpertsThatCannotBeAreErrors) {
  LayerWorkload layer = experts_layer();
  layer.expert_imbalance = 5;
  EXPECT_EQ(
      build_error(layer, 2),
      "workload.expert_imbalance: expected a number from 1 to experts / experts_per_token = 4.000000, got 5.000000");
  layer = experts_layer();
  layer.experts_per_token = 9;
  EXPECT_EQ(build_error(layer, 2), "workload.experts_per_token: expected an integer from 1 to experts = 8, got 9");
  layer.experts = 5000;
  EXPECT_EQ(build_error(layer, 2), "workload.experts: expected at most 4096, got 5000");
}

}  // namespace transformer_layer_test
}  // namespace weft::scenarios::families
