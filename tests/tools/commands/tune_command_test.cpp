// weft tune, and the table behind it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "scenarios/study/prediction.hpp"
#include "scenarios/study/token_split_table.hpp"
#include "tests/simulator.hpp"
#include "tests/tools/command_line.hpp"

namespace weft::tools::commands {
namespace {

using tests::simulator;

using nlohmann::json;
using testing::HasSubstr;
using tests::run_weft;
using tests::TemporaryFolder;

const std::string small_model = R"({"hidden_size": 1024, "intermediate_size": 4096, "num_attention_heads": 8,
    "num_key_value_heads": 8, "num_hidden_layers": 2, "torch_dtype": "bfloat16"})";
const std::string command =
    "tune model.json --machine h200x8-nvswitch-nvls --gpus 4 --tokens 2048 600 --ctas 2 8 --out table.json";

TEST(TuneCommand, WritesTheFastestSplitOfEachNumberOfTokens) {
  const TemporaryFolder folder;
  folder.write("model.json", small_model);
  const auto result = run_weft(command, folder);
  EXPECT_EQ(result.status, 0) << result.errors;
  const json rows = json::parse(folder.read("table.json")).at("rows");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].at("tokens"), 600);
  for (const json& row : rows) {
    EXPECT_LT(row.at("bound_us"), row.at("time_us"));
    EXPECT_DOUBLE_EQ(row.at("speedup").get<double>(),
                     row.at("serial_us").get<double>() / row.at("time_us").get<double>());
    EXPECT_EQ(row.at("schedule").at("family"), "token_split");
  }
  EXPECT_THAT(folder.file_names(), testing::ElementsAre("model.json", "table.json"));  // no progress is left
}

scenarios::study::TableQuestion small_question(std::vector<std::int64_t> tokens) {
  const scenarios::LayerWorkload layer{
      .tokens = 1, .hidden = 1024, .heads = 8, .kv_heads = 8, .head_dim = 128, .intermediate = 4096};
  return {.layer = layer, .tokens = std::move(tokens), .gpus = 4, .fused_norm = true, .ctas = {2, 8}};
}

/// The progress file of a search that stopped after `lines` times, the last of them half written.
std::string cut_off(const std::string& progress, int lines) {
  std::size_t end = 0;
  for (int i = 0; i <= lines; ++i) end = progress.find('\n', end) + 1;
  return progress.substr(0, end + 20);
}

TEST(TokenSplitTable, GoesOnWhereItWasInterrupted) {
  const TemporaryFolder folder;
  const auto progress = folder.path() / "progress";
  const Machine machine = read_machine(machine_path("h200x8-nvswitch-nvls"));
  const scenarios::study::TableQuestion question = small_question({600, 2048});
  std::size_t simulated = 0;
  const auto count = [&](std::size_t, std::size_t) { ++simulated; };
  const std::vector<scenarios::study::TableRow> whole =
      scenarios::study::token_split_table(question, machine, simulator(), progress, count);
  const std::size_t all = simulated;

  folder.write("progress", cut_off(folder.read("progress"), 5));
  simulated = 0;
  const std::vector<scenarios::study::TableRow> resumed =
      scenarios::study::token_split_table(question, machine, simulator(), progress, count);
  EXPECT_EQ(simulated, all - 5);
  ASSERT_EQ(resumed.size(), whole.size());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    EXPECT_EQ(resumed[i].choice, whole[i].choice);
    EXPECT_EQ(resumed[i].time_us, whole[i].time_us);
    EXPECT_EQ(resumed[i].serial_us, whole[i].serial_us);
  }
  simulated = 0;
  scenarios::study::token_split_table(question, machine, simulator(), progress, count);
  EXPECT_EQ(simulated, 0u);
}

TEST(TokenSplitTable, HoldsTheFastestCandidate) {
  const Machine machine = read_machine(machine_path("h200x8-nvswitch-nvls"));
  const scenarios::study::TableQuestion question = small_question({2048});
  const scenarios::study::TableRow row = scenarios::study::token_split_table(question, machine, simulator()).front();
  const std::vector<scenarios::Case> cases = scenarios::study::table_candidates(question, 2048, machine);
  for (std::size_t i = 1; i < cases.size(); ++i)
    EXPECT_LE(row.time_us, scenarios::study::predict(cases[i], machine, simulator(), {.serial = false}).time_us)
        << cases[i].id;
}

TEST(TuneCommand, RefusesTheProgressOfAnotherQuestion) {
  const TemporaryFolder folder;
  folder.write("model.json", small_model);
  folder.write("table.json.progress", "{\"machine\": \"another\"}\n");
  const auto result = run_weft(command, folder);
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.errors, HasSubstr("table.json.progress: expected the progress of this very question"));
}

TEST(TuneCommand, BadInputNamesWhatIsWrong) {
  const TemporaryFolder folder;
  folder.write("model.json", small_model);
  const auto errors = [&](const std::string& arguments) {
    const auto result = run_weft(arguments, folder);
    EXPECT_EQ(result.status, 2) << arguments;
    return result.errors;
  };
  EXPECT_THAT(errors("tune absent.json --machine h200x8-nvswitch"), HasSubstr("absent.json"));
  EXPECT_THAT(errors("tune model.json --machine h200x8-nvswitch --gpus 3"),
              HasSubstr("model.json: workload.heads: expected a multiple of gpus = 3"));
  EXPECT_THAT(errors("tune model.json --machine h200x8-nvswitch --gpus 16"), HasSubstr("gpus"));
  EXPECT_THAT(errors("tune model.json --machine h200x8-nvswitch --tokens 0"), HasSubstr("--tokens"));
  EXPECT_THAT(errors("tune model.json --machine h200x8-nvswitch --tokens 4096 --ctas 200"), HasSubstr("comm_ctas"));
}

}  // namespace
}  // namespace weft::tools::commands
