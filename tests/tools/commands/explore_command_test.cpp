#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "models/base/json_file.hpp"
#include "tests/source_folder.hpp"
#include "tests/tools/command_line.hpp"

namespace weft::tests {
namespace explore_command_test {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class Explore : public testing::Test {
 protected:
  Explore() {
    folder.write("scenario.json", R"({"format": "weft.scenario/1", "op": "gemm+reduce_scatter", "m": [1024, 2048],
        "n": 2048, "k": 1024, "gpus": 2, "machine": "h200x8-nvswitch", "chunks": [2], "max_ctas": []})");
  }
  CommandResult run(const std::string& arguments) const {
    return run_weft("explore scenario.json " + arguments, folder);
  }
  nlohmann::json json() const { return read_json_file(folder.path() / "out.json"); }

  const TemporaryFolder folder;
};

TEST_F(Explore, TakesTheMachineOfTheScenarioUnlessAnotherIsNamed) {
  const CommandResult result = run("--json out.json");
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.output, StartsWith("2 GPUs of h200x8-nvswitch\n"));  // the scenario has no name
  EXPECT_EQ(json()["machine"], "h200x8-nvswitch");
  EXPECT_THAT(run("--machine a800x8-nvlink-pairs").output, StartsWith("2 GPUs of a800x8-nvlink-pairs\n"));
}

TEST_F(Explore, NeedsAMachineOfEither) {
  auto scenario = read_json_file(folder.path() / "scenario.json");
  scenario.erase("machine");
  folder.write("scenario.json", scenario.dump());
  const CommandResult result = run("");
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.errors, HasSubstr("--machine: expected"));
}

TEST_F(Explore, AsksAboutAModelsConfigOnTheMachine) {
  folder.write("config.json", R"({"model_type": "qwen3", "hidden_size": 1024, "intermediate_size": 2048,
      "num_attention_heads": 8, "num_key_value_heads": 8, "num_hidden_layers": 4, "torch_dtype": "float16"})");
  for (const std::string what : {"config.json", "."}) {
    const CommandResult result = run_weft(
        "explore " + what + " --machine h200x8-nvswitch --gpus 2 --tokens 2048,1024 --space named --json out.json",
        folder);
    EXPECT_EQ(result.status, 0) << result.errors;
    EXPECT_THAT(result.output, HasSubstr("Not counted: float16 is counted as bf16"));
    EXPECT_EQ(json()["gpus"], 2);
    EXPECT_EQ(json()["layers"].size(), 4u);  // two sizes in two forms
    EXPECT_EQ(json()["layers"][1]["form"], "sequence_parallel");
  }
}

// Decoding has fewer tokens than GPUs, or no multiple of them: those have no sequence-parallel form.
TEST_F(Explore, AsksAboutFewerTokensThanGpus) {
  folder.write("config.json", R"({"model_type": "qwen3", "hidden_size": 1024, "intermediate_size": 2048,
      "num_attention_heads": 8, "num_key_value_heads": 8, "num_hidden_layers": 4, "torch_dtype": "bfloat16"})");
  const CommandResult result = run_weft(
      "explore config.json --machine h200x8-nvswitch --gpus 2 --tokens 1,64 --space named --json out.json", folder);
  EXPECT_EQ(result.status, 0) << result.errors;
  ASSERT_EQ(json()["layers"].size(), 3u);
  EXPECT_EQ(json()["layers"][0]["tokens"], 1);
  EXPECT_EQ(json()["layers"][0]["form"], "all_reduce");
}

TEST_F(Explore, BlamesTheOptionThatIsWrong) {
  EXPECT_THAT(run("--gpus 2.5").errors, HasSubstr("--gpus: expected a whole number from 1 to 65536, got 2.5"));
  EXPECT_THAT(run("--tokens 1025").errors, StartsWith("weft: --tokens: expected a multiple of gpus = 2, got 1025"));
}

TEST_F(Explore, AsksAboutAPairInWords) {
  const CommandResult result = run_weft(
      "explore 'm=1024 n=1024 k=1024 op=gemm+all_reduce' --machine h200x8-nvswitch --gpus 2 --space named "
      "--json out.json",
      folder);
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_EQ(json()["answers"][0]["workload"]["op"], "gemm+all_reduce");
}

TEST_F(Explore, SimulatesOnlyTheSizeThatIsAsked) {
  ASSERT_EQ(run("--space named --json out.json").status, 0);
  const auto both = json();
  ASSERT_EQ(run("--space named --size 1024 --json out.json").status, 0);
  const auto one = json();
  ASSERT_EQ(one["answers"].size(), 1u);
  EXPECT_EQ(one["answers"][0], both["answers"][0]);
  EXPECT_LT(one["schedules_simulated"], both["schedules_simulated"]);
  const CommandResult absent = run("--size 4096");
  EXPECT_EQ(absent.status, 2);
  EXPECT_THAT(absent.errors, HasSubstr("--size: expected a size of the scenario, got 4096"));
}

TEST_F(Explore, RefusesAnUnknownScheduleBeforeAnyIsSimulated) {
  const CommandResult result = run("--why 'decomposition, chunks 3' --json out.json");
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.errors, HasSubstr("--why: expected one of the ranking"));
  EXPECT_THAT(folder.file_names(), Not(testing::Contains("out.json")));
}

TEST_F(Explore, ExplainsAHybridThatTheRankingWouldNotHave) {
  const std::string unlikely = "hybrid, kernel_end pull, shards 2, gemm_sms 116";
  EXPECT_THAT(run("--size 2048 --all").output, Not(HasSubstr(unlikely + " ")));
  const CommandResult explained = run("--size 2048 --all --why '" + unlikely + "'");
  EXPECT_EQ(explained.status, 0) << explained.errors;
  EXPECT_THAT(explained.output, HasSubstr("\n" + unlikely + " "));
}

TEST_F(Explore, TheFirstScreenIsShortAndNarrow) {
  const std::string model = tests::source_folder() + "/scenarios/models/llama-3.3-70b.config.json";
  const CommandResult result =
      run_weft("explore " + model + " --machine h200x8-nvswitch --gpus 2 --tokens 1024,8192 --space named", folder);
  EXPECT_EQ(result.status, 0) << result.errors;
  std::istringstream lines(result.output);
  std::size_t before_the_table = 0;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 100u) << line;
    if (line.starts_with("A layer against ")) break;
    if (!line.empty()) ++before_the_table;
  }
  EXPECT_LE(before_the_table, 10u) << result.output;
  EXPECT_THAT(result.output, HasSubstr("Odds: "));
  EXPECT_THAT(result.output, HasSubstr("Memory: "));
  EXPECT_THAT(result.output, HasSubstr("Runs today: "));
}

TEST_F(Explore, CarefulAdviceIsNoBolder) {
  ASSERT_EQ(run("--space named --json out.json").status, 0);
  const auto usual = json();
  ASSERT_EQ(run("--space named --careful --json out.json").status, 0);
  for (std::size_t i = 0; i < usual["answers"].size(); ++i)
    for (const auto& one : json()["answers"][i]["schedules"])
      if (one["schedule"] == json()["answers"][i]["advice"] && one["schedule"]["family"] != "serial") {
        EXPECT_GT(one["odds"]["worst_of_20_gain"], 0);
      }
}

TEST_F(Explore, WritesSettingsOrNone) {
  ASSERT_EQ(run("--space named --settings out").status, 0);
  EXPECT_EQ(read_json_file(folder.path() / "out/settings.json")["machine"], "h200x8-nvswitch");
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "out/pytorch-2.11.async_tp.json"));
  folder.write("out/notes", "kept");
  const CommandResult again =
      run("--space named --settings out --machine ascend910b8-mesh");  // without peer access by CUDA
  EXPECT_THAT(again.output, HasSubstr("Settings: settings.json."));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "out/pytorch-2.11.async_tp.json"));
  EXPECT_EQ(folder.read("out/notes"), "kept");
  folder.write("out/settings.json", R"({"format": "of another program"})");
  EXPECT_THAT(run("--space named --settings out").errors, HasSubstr("settings.json: format: expected weft.settings/1"));
  folder.write("file", "kept");
  const CommandResult refused = run("--space named --settings file --json out.json");
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.errors, HasSubstr("--settings: expected a folder, got the file file"));
  EXPECT_EQ(folder.read("file"), "kept");
  EXPECT_THAT(folder.file_names(), Not(testing::Contains("out.json")));
}

TEST_F(Explore, PrintsTheFormatThatIsAsked) {
  EXPECT_THAT(run("--space named --format csv").output, StartsWith("rows,gpus,pair,schedule,time_us,low_us,"));
  EXPECT_EQ(run("--space named --all --format csv").output, run("--space named --format csv").output);
  EXPECT_THAT(run("--space named --format markdown").output, HasSubstr("| schedule | us |"));
  ASSERT_EQ(run("--space named --json out.json").status, 0);
  EXPECT_EQ(nlohmann::json::parse(run("--space named --format json").output), json());
}

}  // namespace explore_command_test
}  // namespace weft::tests
