#include "scenarios/scenario.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/models/error_of.hpp"
#include "tests/scenarios/built_by_model.hpp"
#include "tests/scenarios/program_text.hpp"
#include "tests/source_folder.hpp"

namespace weft::scenarios {
namespace scenario_test {

using nlohmann::json;
using testing::ElementsAre;

const std::filesystem::path folder = std::filesystem::path(tests::source_folder()) / "scenarios";

json llama() {
  return json::parse(R"({"format": "weft.scenario/1", "model": "models/llama-3.3-70b.config.json",
      "tokens": [4096, 1024], "gpus": 4, "form": "all_reduce"})");
}
json plain() {
  return json::parse(R"({"format": "weft.scenario/1", "op": "gemm+reduce_scatter", "m": 4096, "n": 8192, "k": 3584,
      "gpus": 8})");
}

Scenario read(const json& scenario) { return scenario_from_json(scenario, folder); }

std::string error_with(json scenario, const std::string& key, const json& value) {
  scenario[key] = value;
  return error_of([&] { read(scenario); });
}

std::vector<std::string> texts(const std::vector<Question>& list) {
  std::vector<std::string> lines;
  for (const Question& question : list) lines.push_back(question.name + ": " + describe(question.workload));
  return lines;
}

TEST(Scenario, RefusesAKernelAloneWhichLeavesNoChoice) {
  const json alone{{"format", "weft.scenario/1"}, {"gpus", 2}, {"op", "swiglu"}, {"m", 128}, {"n", 256}};
  EXPECT_EQ(error_of([&] { read(alone); }), "op: expected an op of several kernels, got \"swiglu\"");
  const json gemm{{"format", "weft.scenario/1"}, {"gpus", 2}, {"op", "gemm"}, {"m", 128}, {"n", 256}, {"k", 64}};
  EXPECT_EQ(error_of([&] { read(gemm); }), "op: expected an op of several kernels, got \"gemm\"");
  const json collective{{"format", "weft.scenario/1"}, {"gpus", 2}, {"op", "all_reduce"}, {"bytes", 1024}};
  EXPECT_EQ(error_of([&] { read(collective); }), "op: expected an op of several kernels, got \"all_reduce\"");
}

TEST(Scenario, AllReduceFormHasTwoPairsALayer) {
  // Llama-3.3-70B on 4 GPUs: 64 / 4 heads of 128, 28672 / 4 of the MLP.
  EXPECT_THAT(texts(questions(read(llama()), 1)),
              ElementsAre("attention output projection: gemm+all_reduce m=4096 n=8192 k=2048 bf16",
                          "MLP down projection: gemm+all_reduce m=4096 n=8192 k=7168 bf16"));
}

TEST(Scenario, SequenceParallelFormHasFourPairsALayer) {
  json scenario = llama();
  scenario["form"] = "sequence_parallel";
  // (64 + 2 x 8) / 4 heads of 128; gate and up side by side.
  EXPECT_THAT(texts(questions(read(scenario), 0)),
              ElementsAre("qkv projection: all_gather+gemm m=1024 n=2560 k=8192 bf16",
                          "attention output projection: gemm+reduce_scatter m=1024 n=8192 k=2048 bf16",
                          "MLP gate and up projection: all_gather+gemm m=1024 n=14336 k=8192 bf16",
                          "MLP down projection: gemm+reduce_scatter m=1024 n=8192 k=7168 bf16"));
}

TEST(Scenario, ALayerHasThePairsOfAModelsInItsForm) {
  const LayerWorkload layer{.tokens = 1024,
                            .hidden = 8192,
                            .heads = 64,
                            .kv_heads = 8,
                            .head_dim = 128,
                            .intermediate = 28672,
                            .sequence_parallel = true};
  json scenario = llama();
  scenario["form"] = "sequence_parallel";
  EXPECT_EQ(texts(pairs_of(layer, 4)), texts(questions(read(scenario), 0)));
  EXPECT_EQ(error_of([&] { pairs_of(layer, 3); }), "heads: expected a multiple of gpus = 3, got 64");
}

TEST(Scenario, WithoutAFormBothAreAskedAboutAndNamed) {
  json scenario = llama();
  scenario.erase("form");
  std::vector<std::string> names;
  for (const Question& question : questions(read(scenario), 0)) names.push_back(question.name);
  EXPECT_THAT(names,
              ElementsAre("attention output projection, all-reduce", "MLP down projection, all-reduce",
                          "qkv projection, sequence parallel", "attention output projection, sequence parallel",
                          "MLP gate and up projection, sequence parallel", "MLP down projection, sequence parallel"));
  EXPECT_THAT(layers(read(scenario), 0), testing::SizeIs(2));
}

TEST(Scenario, LatentAttentionGathersForOneGemmAndHasNoWholeLayer) {
  json scenario = llama();
  scenario["model"] = "models/deepseek-v3.config.json";
  scenario["form"] = "sequence_parallel";
  // Down to 1536 for queries, and 512 + 64 for keys and values; 128 / 4 heads of 128.
  EXPECT_THAT(texts(questions(read(scenario), 0)),
              ElementsAre("qkv projection: all_gather+gemm m=1024 n=2112 k=7168 fp8",
                          "attention output projection: gemm+reduce_scatter m=1024 n=7168 k=4096 fp8"));
  EXPECT_THAT(layers(read(scenario), 0), testing::IsEmpty());
}

TEST(Scenario, LayerCanBeAskedAboutByItself) {
  const json scenario = json::parse(R"({"format": "weft.scenario/1", "op": "transformer_layer", "tokens": [4096, 1024],
      "hidden": 8192, "heads": 64, "kv_heads": 8, "head_dim": 128, "intermediate": 14336, "experts": 8,
      "experts_per_token": 2, "gpus": 8})");
  const LayerWorkload layer{.tokens = 1024,
                            .hidden = 8192,
                            .heads = 64,
                            .kv_heads = 8,
                            .head_dim = 128,
                            .intermediate = 14336,
                            .experts = 8,
                            .experts_per_token = 2};
  EXPECT_EQ(questions(read(scenario), 0).front().workload, Workload{layer});
}

TEST(Scenario, TokensAreSortedAndCountOnce) {
  json scenario = llama();
  scenario["tokens"] = {4096, 256, 4096, 1024};
  EXPECT_THAT(read(scenario).sizes, ElementsAre(256, 1024, 4096));
}

TEST(Scenario, TheWholeLayerHasTheModelsSizes) {
  EXPECT_THAT(layers(read(llama()), 0),
              ElementsAre(LayerWorkload{
                  .tokens = 1024, .hidden = 8192, .heads = 64, .kv_heads = 8, .head_dim = 128, .intermediate = 28672}));
  EXPECT_THAT(layers(read(plain()), 0), testing::IsEmpty());
}

TEST(Scenario, PlainSizesGiveOnePairForEachM) {
  json scenario = plain();
  scenario["m"] = {8192, 4096};
  const Scenario several = read(scenario);
  EXPECT_THAT(several.sizes, ElementsAre(4096, 8192));
  EXPECT_THAT(texts(questions(several, 1)),
              ElementsAre("gemm+reduce_scatter: gemm+reduce_scatter m=8192 n=8192 k=3584 bf16"));
}

TEST(Scenario, PlainSizesMayNameIndependentWork) {
  json scenario = plain();
  scenario["op"] = "gemm||all_reduce";
  scenario["bytes"] = 1 << 20;
  EXPECT_EQ(questions(read(scenario), 0).at(0).workload, Workload(ConcurrentPair{4096, 8192, 3584, 1 << 20}));
}

TEST(Scenario, AttentionIsAskedForByItsTokens) {
  const Scenario scenario = read_scenario(folder / "distributed_attention.json");
  EXPECT_EQ(questions(scenario, 0).at(0).workload,
            Workload(AttentionWorkload{scenario.sizes[0], 64, 8, 128, AttentionMask::causal}));
}

TEST(Scenario, TheSearchSpaceIsWhatTheFileSays) {
  json scenario = plain();
  scenario["families"] = {"serial", "decomposition"};
  scenario["chunks"] = {3};
  scenario["max_ctas"] = json::array();
  scenario["launch"] = "eager";
  EXPECT_EQ(
      read(scenario).space,
      (SearchSpace{.families = {{"serial", "decomposition"}}, .chunks = {3}, .max_ctas = {}, .launch = Launch::eager}));
}

TEST(Scenario, NamesWhoMayDoItsCollectives) {
  const auto asked = [](const json& names) {
    json scenario = plain();
    scenario["collectives"] = names;
    return read(scenario).space.collectives;
  };
  EXPECT_EQ(read(plain()).space.collectives, SearchSpace{}.collectives);
  EXPECT_TRUE(asked({"nccl"}).empty());
  EXPECT_EQ(asked({"nccl", "two_shot", "nccl_copy_engine"}),
            (std::vector{Collectives::two_shot, Collectives::nccl_copy_engine}));
  EXPECT_EQ(error_with(plain(), "collectives", {"rccl"}),
            "collectives[0]: expected nccl, two_shot, multimem, nccl_symmetric or nccl_copy_engine, got \"rccl\"");
}

TEST(Scenario, ShippedOnesCanBeBuiltOnEightGpus) {
  for (const char* file : {"llama-3.3-70b.json", "gemm_reduce_scatter.json", "distributed_attention.json"}) {
    const Scenario scenario = read_scenario(folder / file);
    EXPECT_EQ(scenario.machine, "h200x8-nvswitch");
    EXPECT_FALSE(scenario.source.empty());
    for (std::size_t index = 0; index < scenario.sizes.size(); ++index)
      for (const Question& question : questions(scenario, index))
        for (const Case& request : candidates(question.workload, scenario.gpus, scenario.space))
          EXPECT_NO_THROW(built_by_model(request, round_machine())) << file << " " << request.id;
  }
}

TEST(Scenario, MeasuredTimesAreThoseOfTheOnlySize) {
  json scenario = plain();
  scenario["measured"] = {{"gemm_us", 812.5}};
  EXPECT_EQ(read(scenario).measured, (Measured{812.5, std::nullopt}));
  scenario["m"] = {4096, 8192};
  EXPECT_EQ(error_of([&] { read(scenario); }).rfind("measured: expected no measured times where m has several", 0), 0);
}

TEST(Scenario, BadInputNamesTheField) {
  EXPECT_EQ(error_with(llama(), "colour", 1).rfind("colour: ", 0), 0);
  EXPECT_EQ(error_with(llama(), "format", "weft.scenario/9").rfind("format: expected weft.scenario/1", 0), 0);
  EXPECT_EQ(error_with(llama(), "tokens", json::array()).rfind("tokens: expected at least one", 0), 0);
  EXPECT_EQ(error_with(llama(), "tokens", {1024, 0}).rfind("tokens[1]: ", 0), 0);
  EXPECT_EQ(error_with(llama(), "form", "ring").rfind("form: expected one of all_reduce", 0), 0);
  EXPECT_EQ(error_with(llama(), "families", {"magic"}).rfind("families[0]: ", 0), 0);
  EXPECT_EQ(error_with(plain(), "families", {"staged"}),
            "families: expected one that has a schedule of the op and its sizes, got staged");
  EXPECT_EQ(error_with(plain(), "n", 0).rfind("n: ", 0), 0);
  EXPECT_EQ(error_with(plain(), "k", std::int64_t{1} << 60).rfind("k: ", 0), 0);
  EXPECT_EQ(error_with(plain(), "bytes", 64).rfind("bytes: ", 0), 0);
  EXPECT_EQ(error_with(plain(), "measured", {{"gemm_us", 0}}).rfind("measured.gemm_us: ", 0), 0);
  EXPECT_EQ(error_with(llama(), "measured", {{"gemm_us", 1}}).rfind("measured: ", 0), 0);
  EXPECT_EQ(error_with(plain(), "model", "models/llama-3.3-70b.config.json").rfind("tokens: ", 0), 0);
}

TEST(Scenario, HeadsThatCannotBeSplitAreAnError) {
  EXPECT_EQ(error_with(llama(), "gpus", 3), "num_attention_heads: expected a multiple of gpus = 3, got 64");
}

TEST(Scenario, AMissingModelOrFileIsNamed) {
  EXPECT_NE(error_with(llama(), "model", "absent.json").find("absent.json"), std::string::npos);
  EXPECT_NE(error_of([] { read_scenario("no/such/scenario.json"); }).find("no/such/scenario.json"), std::string::npos);
}

}  // namespace scenario_test
}  // namespace weft::scenarios
