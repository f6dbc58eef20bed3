#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "models/base/json_file.hpp"
#include "tests/source_folder.hpp"
#include "tests/tools/command_line.hpp"

namespace weft::tests {
namespace check_command_test {

using testing::HasSubstr;

const std::string root = source_folder() + "/";

/// All-reduce of 256 numbers after a GEMM on two GPUs.
nlohmann::json small_schedule() {
  return nlohmann::json::parse(R"({
    "format": "weft.schedule/1", "name": "small", "gpus": 2,
    "buffers": [{"name": "a", "rows": 16, "columns": 32}, {"name": "b", "rows": 16, "columns": 32},
                {"name": "c", "rows": 16, "columns": 16}],
    "streams": [{"name": "main"}],
    "operations": [
      {"name": "gemm", "stream": "main", "gemm": {"a": {"buffer": "a"}, "b": {"buffer": "b"}, "c": {"buffer": "c"}}},
      {"name": "all_reduce", "stream": "main",
       "collective": {"kind": "all_reduce", "input": {"buffer": "c"}, "output": {"buffer": "c"}}}],
    "meaning": {"op": "gemm+all_reduce", "m": 16, "n": 16, "k": 32, "a": "a", "b": "b", "result": "c"}})");
}

/// Nothing orders its two operations.
nlohmann::json racing_schedule() {
  auto schedule = small_schedule();
  schedule["streams"].push_back({{"name", "other"}});
  schedule["operations"][1]["stream"] = "other";
  return schedule;
}

CommandResult check(const nlohmann::json& schedule, const TemporaryFolder& folder, const std::string& options = "") {
  folder.write("schedule.json", schedule.dump());
  return run_weft("check schedule.json " + options, folder);
}

TEST(CheckCommand, ComputesWhatASmallScheduleSays) {
  const TemporaryFolder folder;
  const CommandResult result = check(small_schedule(), folder, "--json out.json");
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("computes gemm+all_reduce"));
  const auto json = read_json_file(folder.path() / "out.json");
  EXPECT_EQ(json["schedule"], "small");
  EXPECT_EQ(json["valid"], true);
  EXPECT_EQ(json["races"], 0);
}

TEST(CheckCommand, ComputesPublishedSchedules) {
  const TemporaryFolder folder;
  const CommandResult result = run_weft("check " + root + "tests/schedules/async_tp_all_gather_gemm.json", folder);
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("computes all_gather+gemm"));
}

TEST(CheckCommand, RefusesAScheduleThatComputesSomethingElse) {
  const TemporaryFolder folder;
  auto schedule = small_schedule();
  schedule["operations"].erase(1);  // what each rank has is not the sum
  const CommandResult result = check(schedule, folder);
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.errors, HasSubstr("schedule.json: meaning: gemm+all_reduce: iteration 0"));
}

TEST(CheckCommand, RefusesRaces) {
  const TemporaryFolder folder;
  const CommandResult result = check(racing_schedule(), folder);
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.errors, HasSubstr("schedule.json: operations: expected conflicting operations to be ordered"));
}

TEST(CheckCommand, RefusesDeadlocks) {
  const TemporaryFolder folder;
  const CommandResult result =
      run_weft("check " + root + "scenarios/launch_control/deadlock_stream_order.json", folder);
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.errors, HasSubstr("deadlock"));
}

/// 4,096 x 4,096 elements where small_schedule() has hundreds.
nlohmann::json large_schedule() {
  auto schedule = small_schedule();
  for (auto& buffer : schedule["buffers"]) buffer["rows"] = buffer["columns"] = 4096;
  for (const char* size : {"m", "n", "k"}) schedule["meaning"][size] = 4096;
  return schedule;
}

TEST(CheckCommand, ComputesLargeSchedulesInUnits) {
  const TemporaryFolder folder;
  const CommandResult result = check(large_schedule(), folder);
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("computes gemm+all_reduce, in integers, in 4 runs with random durations, where "
                                       "one row or column stands for all that are treated alike"));
}

TEST(CheckCommand, RefusesALargeScheduleThatComputesSomethingElse) {
  const TemporaryFolder folder;
  auto schedule = large_schedule();
  schedule["operations"].erase(1);
  const CommandResult result = check(schedule, folder);
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.errors, HasSubstr("schedule.json: meaning: gemm+all_reduce: iteration 0"));
}

// A product of single elements cuts all sides of the large one after their first row and column.
TEST(CheckCommand, SaysWhatIsTooLargeToCompute) {
  const TemporaryFolder folder;
  auto schedule = large_schedule();
  schedule["buffers"].push_back({{"name", "d"}, {"rows", 1}, {"columns", 1}});
  const auto corner = [](const char* buffer) {
    return nlohmann::json{{"buffer", buffer}, {"rows", {0, 1}}, {"columns", {0, 1}}};
  };
  schedule["operations"].push_back(
      {{"name", "corner"}, {"stream", "main"}, {"gemm", {{"a", corner("a")}, {"b", corner("b")}, {"c", "d"}}}});
  const CommandResult result = check(schedule, folder);
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("not checked: too large to compute gemm+all_reduce"));
}

TEST(CheckCommand, ComparesShapesOfAnySize) {
  const TemporaryFolder folder;
  auto schedule = large_schedule();
  schedule["meaning"]["k"] = 2048;
  const CommandResult result = check(schedule, folder);
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.errors, HasSubstr("expected 4096 x 2048, got 4096 x 4096"));
}

TEST(CheckCommand, LeavesTheResultOfOneKernelToTheGpus) {
  const TemporaryFolder folder;
  const nlohmann::json schedule = {
      {"format", "weft.schedule/1"},
      {"name", "grouped"},
      {"gpus", 1},
      {"buffers",
       {{{"name", "A"}, {"rows", 256}, {"columns", 64}},
        {{"name", "B"}, {"rows", 256}, {"columns", 64}},
        {{"name", "C"}, {"rows", 256}, {"columns", 128}}}},
      {"streams", {{{"name", "compute"}}}},
      {"operations",
       {{{"name", "grouped"},
         {"stream", "compute"},
         {"grouped_gemm", {{"a", "A"}, {"b", "B"}, {"c", "C"}, {"group_rows", {100, 156}}}}}}},
      {"meaning",
       {{"op", "grouped_gemm"}, {"m", 256}, {"n", 128}, {"k", 64}, {"a", "A"}, {"b", "B"}, {"result", "C"}}}};
  folder.write("schedule.json", schedule.dump());
  const CommandResult result = run_weft("check schedule.json", folder);
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("says that it computes grouped_gemm, which weft run checks on GPUs"));
}

TEST(RunCommand, RefusesWhatCheckRefuses) {
  const TemporaryFolder folder;
  folder.write("schedule.json", racing_schedule().dump());
  const CommandResult result = run_weft("run schedule.json", folder);
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.errors, HasSubstr("expected conflicting operations to be ordered"));
}

}  // namespace check_command_test
}  // namespace weft::tests
