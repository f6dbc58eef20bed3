// weft tune, and the table behind it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "models/base/appended_file.hpp"
#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "models/machine/profile_checksum.hpp"
#include "scenarios/study/prediction.hpp"
#include "scenarios/study/token_split_table.hpp"
#include "tests/simulator.hpp"
#include "tests/tools/command_line.hpp"

namespace weft::tools::commands {
namespace tune_command_test {

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

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n') + 1); }

/// A folder with a profile of its own, and what a search on it that was interrupted after four times has left there.
class InterruptedTuneCommand : public testing::Test {
 protected:
  void SetUp() override {
    folder_.write("model.json", small_model);
    std::filesystem::copy_file(machine_path("h200x8-nvswitch-nvls"), folder_.path() / "server.json");
    std::filesystem::copy_file(machine_path("h200x8-nvswitch"), folder_.path() / "h200x8-nvswitch.json");
    const json profile = profile_of("h200x8-nvswitch-nvls");
    const std::string table = profile["gemm"]["kernels"]["file"];
    std::filesystem::copy_file(machine_folder() / table, folder_.path() / table);
    ASSERT_EQ(run_weft(tune_, folder_).status, 0);
    whole_ = folder_.read("table.json");
    question_.profile = profile_checksum(folder_.path() / "server.json");
    const auto progress = folder_.path() / "table.json.progress";
    scenarios::study::token_split_table(question_, read_machine(folder_.path() / "server.json"), simulator(), progress);
    lines_ = folder_.read("table.json.progress");
    std::filesystem::remove(folder_.path() / "table.json");
    folder_.write("table.json.progress", cut_off(lines_, 4));
  }
  static json profile_of(const std::string& name) { return json::parse(std::ifstream(machine_path(name))); }
  /// What a search that is refused says; it leaves the progress as it is, and no table.
  std::string error(const std::string& asked) const {
    const std::string before = folder_.read("table.json.progress");
    const tests::CommandResult result = run_weft(asked, folder_);
    EXPECT_EQ(result.status, 2) << result.errors;
    EXPECT_EQ(folder_.read("table.json.progress"), before);
    EXPECT_FALSE(std::filesystem::exists(folder_.path() / "table.json"));
    EXPECT_EQ(std::count(result.errors.begin(), result.errors.end(), '\n'), 1) << result.errors;
    return result.errors;
  }
  /// With `line` after the first line, which says what the progress belongs to.
  std::string error_of(const std::string& line) const {
    folder_.write("table.json.progress", first_line(lines_) + line + "\n");
    return error(tune_);
  }

  const std::string tune_ = "tune model.json --machine ./server.json --gpus 4 --tokens 600 --ctas 2 8 --out table.json";
  const TemporaryFolder folder_;
  scenarios::study::TableQuestion question_ = small_question({600});
  std::string whole_, lines_;  ///< of a search that nothing interrupts
};

TEST_F(InterruptedTuneCommand, GivesTheBytesOfOneThatWasNot) {
  EXPECT_EQ(run_weft(tune_, folder_).status, 0);
  EXPECT_EQ(folder_.read("table.json"), whole_);
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "table.json.progress"));
}

// The line may be whole but for its end: a number with fewer digits is a number, too.
TEST_F(InterruptedTuneCommand, ComputesALineWithoutItsEndAgain) {
  const std::string first = first_line(lines_.substr(first_line(lines_).size()));
  json wrong = json::parse(first);
  wrong["time_us"] = wrong["time_us"].get<double>() * 2;
  folder_.write("table.json.progress", first_line(lines_) + wrong.dump());
  EXPECT_EQ(run_weft(tune_, folder_).status, 0);
  EXPECT_EQ(folder_.read("table.json"), whole_);
}

TEST_F(InterruptedTuneCommand, RefusesASecondRunIntoOneFile) {
  const AppendedFile first(folder_.path() / "table.json.progress", {"{\"case\":"});
  EXPECT_THAT(error(tune_), HasSubstr("table.json.progress: expected no other run to write it"));
}

TEST_F(InterruptedTuneCommand, RefusesToGoOnWithAnotherClockInTheSameFile) {
  json profile = json::parse(folder_.read("server.json"));
  json& clock = profile["gpu"]["max_clock"]["value"];
  clock = clock.get<double>() / 2;
  folder_.write("server.json", profile.dump());
  EXPECT_THAT(error(tune_), HasSubstr("table.json.progress: expected the progress of this very question"));
}

TEST_F(InterruptedTuneCommand, TellsAnotherTableOfKernelsBesideTheSameProfile) {
  json profile = json::parse(folder_.read("server.json"));
  const std::string table = profile["gemm"]["kernels"]["file"];
  profile["gemm"]["kernels"].erase("checksum");
  folder_.write("server.json", profile.dump());
  const std::string before = profile_checksum(folder_.path() / "server.json");
  std::string text = folder_.read(table);
  folder_.write(table, text.substr(0, text.rfind('\n', text.size() - 2) + 1));
  EXPECT_NE(profile_checksum(folder_.path() / "server.json"), before);
}

TEST_F(InterruptedTuneCommand, RefusesToGoOnWithAnotherPlan) {
  std::string other = tune_;
  other.replace(other.find("--ctas 2 8"), 10, "--ctas 2 4");
  EXPECT_THAT(error(other), HasSubstr("remove the file, or name another --out"));
}

TEST_F(InterruptedTuneCommand, RefusesToGoOnWithWhatAnotherVersionComputed) {
  json first = json::parse(first_line(lines_));
  EXPECT_TRUE(first.contains("weft"));
  std::string other = lines_;
  other.replace(other.find("\"weft\":\"") + 8, 1, "9");
  folder_.write("table.json.progress", other);
  EXPECT_THAT(error(tune_), HasSubstr("the same version of weft"));
}

TEST_F(InterruptedTuneCommand, RefusesLinesThatItCannotHaveWritten) {
  const std::string first = first_line(lines_.substr(first_line(lines_).size()));
  const auto with = [&](const std::string& key, const json& value) {
    json line = json::parse(first);
    line[key] = value;
    return error_of(line.dump());
  };
  for (const json& time_us : std::vector<json>{0, -1, 1e-3, 9e15, nullptr, "12"})
    EXPECT_THAT(with("time_us", time_us), HasSubstr("table.json.progress: line 2: time_us: expected")) << time_us;
  EXPECT_THAT(with("note", 1), HasSubstr("line 2: note: "));
  EXPECT_THAT(error_of(std::string(100000, '[')), HasSubstr("line 2: expected at most 64 levels of nesting"));
  EXPECT_THAT(error_of("{\"case\": {}, "), HasSubstr("line 2: expected JSON"));
  EXPECT_THAT(error_of("[1]"), HasSubstr("line 2: expected"));
  EXPECT_THAT(error_of(first + first), HasSubstr("line 3: case: expected each case once"));
  json elsewhere = json::parse(first);
  elsewhere["case"]["workload"]["tokens"] = 601;
  EXPECT_THAT(error_of(elsewhere.dump()), HasSubstr("line 2: case: expected a case of this question"));
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
  EXPECT_THAT(errors("tune model.json --machine rtx4090x8-pcie"),  // without peer access
              HasSubstr("--machine: expected one with the fused all-reduce and norm, or --nccl with it"));
  EXPECT_THAT(errors("tune model.json --machine h200x8-nvswitch --tokens 0"), HasSubstr("--tokens"));
  EXPECT_THAT(errors("tune model.json --machine h200x8-nvswitch --tokens 4096 --ctas 200"), HasSubstr("comm_ctas"));
}

}  // namespace tune_command_test
}  // namespace weft::tools::commands
