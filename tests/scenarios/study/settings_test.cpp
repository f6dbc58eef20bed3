// Each file is read here as its tool reads it, by that tool's documentation.
#include "scenarios/study/settings.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "tests/simulator.hpp"
#include "tests/source_folder.hpp"

namespace weft::scenarios::study {
namespace settings_test {

using nlohmann::json;
using testing::AnyOf;
using tests::simulator;

using Files = std::map<std::string, std::string>;

struct Written {
  Scenario scenario;
  Exploration exploration;
  Files files;
};

Files files_of(const Exploration& exploration, const Scenario& scenario, const Machine& machine) {
  Files files;
  for (const SettingsFile& file : settings_of(exploration, scenario, machine, Grade::measured))
    files[file.name] = file.text;
  return files;
}

/// Large pairs on two GPUs, where most of all pays, with NCCL under limits of CTAs; named schedules alone.
const Written& written() {
  static const Written once = [] {
    const Machine machine = read_machine(machine_path("h100x8-nvswitch-nvls"));
    Scenario scenario;
    scenario.gpus = 4;
    scenario.model =
        read_model_config(std::filesystem::path(tests::source_folder()) / "scenarios/models/llama-3.3-70b.config.json");
    scenario.forms = {LayerForm::all_reduce, LayerForm::sequence_parallel};
    scenario.sizes = {512, 8192};
    Exploration exploration = explore(scenario, machine, simulator());
    Files files = files_of(exploration, scenario, machine);
    return Written{scenario, std::move(exploration), std::move(files)};
  }();
  return once;
}

const std::string& file(const std::string& name) { return written().files.at(name); }

TEST(Settings, TheManifestNamesEveryFileWithItsVersionUseAndReason) {
  const json manifest = json::parse(file("settings.json"));
  EXPECT_EQ(manifest["format"], "weft.settings/1");
  std::set<std::string> names{"settings.json"};
  for (const json& one : manifest.at("files")) {
    names.insert(one["file"].get<std::string>());
    EXPECT_TRUE(std::regex_search(one["for"].get<std::string>(), std::regex("[0-9]"))) << one;
    EXPECT_FALSE(one["use"].get<std::string>().empty());
    EXPECT_FALSE(one["because"].get<std::string>().empty());
  }
  std::set<std::string> files;
  for (const auto& [name, text] : written().files) files.insert(name);
  EXPECT_EQ(names, files);
}

// vllm/config/compilation.py, CompilationConfig and PassConfig of vLLM 0.18: two booleans and a number of tokens, and
// the partition of graphs that async TP needs.
TEST(Settings, VllmReadsItsCompilationConfig) {
  const json config = json::parse(file("vllm-0.18.compilation_config.json"));
  const json& passes = config.at("pass_config");
  ASSERT_TRUE(passes["fuse_gemm_comms"]);
  EXPECT_TRUE(passes["enable_sp"]);
  EXPECT_THAT(written().scenario.sizes, testing::Contains(passes.at("sp_min_token_num").get<std::int64_t>()));
  EXPECT_EQ(passes.size(), 3u);
  EXPECT_TRUE(config.at("use_inductor_graph_partition"));
  EXPECT_EQ(config.size(), 2u);
}

TEST(Settings, VllmSplitsSequencesOnlyForAsyncTp) {
  Machine machine = read_machine(machine_path("h100x8-nvswitch-nvls"));
  machine.fabric.peer_access = false;
  const json config =
      json::parse(files_of(written().exploration, written().scenario, machine).at("vllm-0.18.compilation_config.json"));
  EXPECT_EQ(config, json::parse(R"({"pass_config": {"enable_sp": false, "fuse_gemm_comms": false}})"));
}

TEST(Settings, VllmFusesNoGemmThatExpandsItsWeights) {
  const Machine machine = read_machine(machine_path("h100x8-nvswitch-nvls"));
  Scenario packed = written().scenario;
  packed.model->weight_bytes = 0.53;
  const json config =
      json::parse(files_of(written().exploration, packed, machine).at("vllm-0.18.compilation_config.json"));
  EXPECT_FALSE(config["pass_config"]["fuse_gemm_comms"]);
}

TEST(Settings, NobodyIsToldToOverlapWhereTooMuchIsAssumed) {
  const Machine machine = read_machine(machine_path("h100x8-nvswitch-nvls"));
  for (const SettingsFile& one : settings_of({}, written().scenario, machine, Grade::assumed))
    EXPECT_THAT(one.name, AnyOf("nccl-2.28.conf", "settings.json"));
}

TEST(Settings, PytorchHasAFusedOpForEachSequenceParallelPair) {
  const json pairs = json::parse(file("pytorch-2.11.async_tp.json"))["pairs"];
  ASSERT_EQ(pairs.size(), 4u);
  for (const json& pair : pairs) {
    EXPECT_THAT(pair["op"].get<std::string>(),
                AnyOf("torch.ops.symm_mem.fused_all_gather_matmul", "torch.ops.symm_mem.fused_matmul_reduce_scatter"));
    EXPECT_TRUE(pair["fuse_from_rows"].is_null() || pair["fuse_from_rows"].is_number_integer());
  }
}

// TokenWeave's vllm/tokenweave_configs: a table by tokens of two numbers of CTAs and an offset.
TEST(Settings, TokenweaveReadsItsTable) {
  const json table = json::parse(file("tokenweave-2025.config.json"));
  EXPECT_FALSE(table.empty());
  for (const auto& [tokens, row] : table.items()) {
    EXPECT_GT(std::stoll(tokens), 0);
    ASSERT_EQ(row.size(), 3u);
    EXPECT_GT(row["attention_ctas"], 0);
    EXPECT_GT(row["mlp_ctas"], 0);
    const std::int64_t first = (std::stoll(tokens) + 255) / 256 * 256 / 2 + row["chunk_offset"].get<std::int64_t>();
    EXPECT_GT(first, 0);
    EXPECT_LT(first, std::stoll(tokens));
  }
}

// tune/search.py of FlashOverlap: cSeg has the tiles of each group, all tiles together.
TEST(Settings, FlashoverlapsGroupsHaveAllTiles) {
  const json shapes = json::parse(file("flashoverlap-2025.groups.json"));
  for (const auto& [shape, groups] : shapes.items()) {
    std::smatch sizes;
    ASSERT_TRUE(std::regex_match(shape, sizes, std::regex("m([0-9]+)n([0-9]+)k([0-9]+)")));
    const std::int64_t m = std::stoll(sizes[1]), n = std::stoll(sizes[2]), bm = groups["BM"], bn = groups["BN"];
    std::int64_t tiles = 0;
    for (const std::int64_t one : groups["cSeg"]) tiles += one;
    EXPECT_EQ(tiles, (m + bm - 1) / bm * ((n + bn - 1) / bn)) << shape;
  }
}

// Megatron-LM's --tp-comm-overlap-cfg: GEMM names, each with a method and its keys, as NeMo's dataclasses have them.
TEST(Settings, TransformerEngineReadsItsTable) {
  std::istringstream lines(file("transformer_engine-2.userbuffers.yaml"));
  std::string gemm;
  std::map<std::string, std::set<std::string>> keys;
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (line.starts_with("#")) continue;
    if (std::regex_match(line, match, std::regex("(qkv|proj|fc1|fc2)_fprop:"))) {
      gemm = line;
    } else {
      ASSERT_TRUE(std::regex_match(line, match, std::regex("  ([a-z_]+): ([a-z_]+|[0-9]+)"))) << line;
      keys[gemm].insert(match[1]);
    }
  }
  EXPECT_FALSE(keys.empty());
  for (const auto& [name, found] : keys)
    EXPECT_THAT(found, AnyOf(testing::ElementsAre("aggregate", "method"),
                             testing::ElementsAre("cga_size", "method", "num_sm", "num_splits", "set_sm_margin")))
        << name;
}

Exploration with_limited_ctas() {
  Explored serial, limited;
  const PairWorkload pair{PairOp::gemm_all_reduce, 4096, 4096, 2048};
  serial.candidate.request = {.id = "serial", .gpus = 4, .workload = pair, .schedule = {Serial{}}, .measured = {}};
  limited.candidate.request = {
      .id = "limited", .gpus = 4, .workload = pair, .schedule = {Decomposition{4}, 8}, .measured = {}};
  Answer answer{.pair = "pair", .form = {}, .size = 4096, .ranking = {}, .fastest_first = {limited, serial}};
  answer.ranking.fastest_first = {limited.candidate, serial.candidate};
  answer.ranking.serial = 1;
  return {.answers = {answer}, .layers = {}};
}

/// Of a layer's projection whose advice is this hybrid.
std::string userbuffers_with(PairOp op, const Hybrid& hybrid) {
  Exploration exploration = with_limited_ctas();
  Answer& answer = exploration.answers.front();
  answer.pair = "attention output projection";
  answer.form = LayerForm::sequence_parallel;
  for (Candidate& candidate : answer.ranking.fastest_first)
    candidate.request.workload = PairWorkload{op, 4096, 4096, 2048};
  answer.ranking.fastest_first.front().request.schedule = {hybrid};
  answer.ranking.fastest_first.front().speedup = 2;
  Scenario scenario;
  scenario.sizes = {4096};
  Files files = files_of(exploration, scenario, read_machine(machine_path("h200x8-nvswitch")));
  return files["transformer_engine-2.userbuffers.yaml"];
}

// What only kernels of our own do is none of its ring exchanges.
TEST(Settings, TransformerEngineIsToldOfCopiesOfShardsAlone) {
  using enum HybridMover;
  const auto shards = [](HybridTrigger trigger, HybridMover mover, HybridSums sums = HybridSums::at_end) {
    return Hybrid{.trigger = trigger, .mover = mover, .pieces = HybridPieces::shards, .sums = sums};
  };
  using enum PairOp;
  EXPECT_THAT(userbuffers_with(all_gather_gemm, shards(HybridTrigger::kernel_end, push)),
              testing::HasSubstr("ring_exchange"));
  EXPECT_EQ(userbuffers_with(all_gather_gemm, shards(HybridTrigger::one_launch, fetch)), "");
  EXPECT_EQ(userbuffers_with(all_gather_gemm, shards(HybridTrigger::tile_group, pull)), "");
  EXPECT_EQ(userbuffers_with(gemm_reduce_scatter, shards(HybridTrigger::kernel_end, pull, HybridSums::in_gemm)), "");
}

// README of NCCL's example tuner plugin: ten fields, -1 for any.
TEST(Settings, NcclsTunerReadsALineForEachLimitedCollective) {
  const Machine machine = read_machine(machine_path("h200x8-nvswitch"));
  Scenario scenario;
  scenario.sizes = {4096};
  std::string text;
  for (const SettingsFile& one : settings_of(with_limited_ctas(), scenario, machine, Grade::measured))
    if (one.name == "nccl-2.28.tuner.conf") text = one.text;
  EXPECT_THAT(text, testing::HasSubstr("\nallreduce,8388608,8388608,ring,simple,8,1,4,-1,-1\n"));  // 1024 x 4096 bf16
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (!line.starts_with("#")) {
      EXPECT_EQ(std::ranges::count(line, ','), 9) << line;
    }
}

// Two pairs of a layer may have collectives of one size, which the tuner cannot tell apart.
TEST(Settings, NcclsTunerLimitsNoCollectiveOnWhichPairsDiffer) {
  const Machine machine = read_machine(machine_path("h200x8-nvswitch"));
  Scenario scenario;
  scenario.sizes = {4096};
  Exploration exploration = with_limited_ctas();
  exploration.answers.push_back(exploration.answers.front());
  Ranking& other = exploration.answers.back().ranking;
  other.fastest_first[other.advised].request.schedule.max_ctas = 0;
  for (const SettingsFile& one : settings_of(exploration, scenario, machine, Grade::measured))
    EXPECT_NE(one.name, "nccl-2.28.tuner.conf");
}

std::vector<std::string> names_of(const Scenario& scenario, const std::string& machine = "h200x8-nvswitch") {
  std::vector<std::string> names;
  for (const SettingsFile& one :
       settings_of(with_limited_ctas(), scenario, read_machine(machine_path(machine)), Grade::measured))
    names.push_back(one.name);
  return names;
}

TEST(Settings, NcclGetsNothingWhereItDoesNotRun) {
  Scenario scenario;
  scenario.sizes = {4096};
  for (const std::string& name : names_of(scenario, "mi300x8-mesh"))
    EXPECT_THAT(name, testing::Not(testing::HasSubstr("nccl"))) << name;
}

// NCCL's documentation: lines of KEY=VALUE, # begins a comment.
TEST(Settings, NcclsConfigurationIsForGraphs) {
  Scenario scenario;
  scenario.sizes = {4096};
  scenario.gpus = 4;
  EXPECT_THAT(names_of(scenario), testing::Contains("nccl-2.28.conf"));
  scenario.space.launch = Launch::eager;
  EXPECT_THAT(names_of(scenario), testing::Not(testing::Contains("nccl-2.28.conf")));
}

}  // namespace settings_test
}  // namespace weft::scenarios::study
