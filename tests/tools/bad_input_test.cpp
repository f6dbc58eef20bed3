// Bad input ends in exit status 2 and one line on standard error that names the file and the field, and leaves no file.
#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "calibration/hardware.hpp"
#include "models/base/json_file.hpp"
#include "tests/source_folder.hpp"
#include "tests/tools/command_line.hpp"

namespace weft::tests {
namespace bad_input_test {

using testing::HasSubstr;
using testing::StartsWith;

/// The command finds input.json: the file `base` of the project with `change` applied to it as a JSON merge patch
/// (null removes a key); without `base`, the text `change` itself; without both, no file.
struct BadInput {
  std::string claim;
  std::string arguments;
  std::string base;
  std::string change;
  std::vector<std::string> told;  ///< what the line contains

  friend std::ostream& operator<<(std::ostream& out, const BadInput& row) { return out << "weft " << row.arguments; }
};

const std::string explore =
    "explore input.json --machine h200x8-nvswitch --json out.json --trace trace.json --schedule schedule.json";
const std::string simulate = "simulate input.json --machine h200x8-nvswitch --json out.json --trace trace.json";

const std::string measure = "measure input.json --machine h200x8-nvswitch --out out.jsonl";
const std::string validate = "validate input.json --machine h200x8-nvswitch --json out.json";
const std::string run = "run input.json --json out.json --trace trace.json --spans spans.json";

const std::string machine = "calibration/machines/h200x8-nvswitch.json";
const std::string mesh = "calibration/machines/mi300x8-mesh.json";
const std::string pcie = "calibration/machines/rtx4090x8-pcie.json";
const std::string scenario = "scenarios/gemm_reduce_scatter.json";
const std::string layer = "scenarios/llama-3.3-70b.json";
const std::string schedule = "tests/schedules/async_tp_all_gather_gemm.json";
const std::string signaling = "tests/schedules/flashoverlap_gemm_reduce_scatter.json";
const std::string trace = "tests/tools/inputs/predicted.json";

const std::string pause_on_16_gpus = R"({
  "format": "weft.schedule/1", "name": "pause", "gpus": 16, "buffers": [], "streams": [{"name": "main"}],
  "operations": [{"name": "pause", "stream": "main", "delay": {"time_us": 1}}]})";

const std::string held_sms = R"({
  "format": "weft.schedule/1", "name": "hold", "gpus": 1, "buffers": [], "streams": [{"name": "main"}],
  "operations": [{"name": "hold", "stream": "main", "delay": {"time_us": 1, "held_sms": 133}}]})";

const std::string case_with_a_colour =
    R"({"id": "a", "gpus": 2, "colour": 1, "workload": {"op": "all_reduce", "bytes": 1024}})";

const std::vector<BadInput> rows{
    // clang-format off
    // Usage
    {"no_command", "", "", "", {"command", "machines"}},
    {"an_unknown_command", "prophesy", "", "", {"prophesy"}},
    {"an_unknown_option", "machines --colour", "", "", {"--colour"}},
    // machines
    {"an_unknown_machine", "machines dgx9000", "", "", {"machine", "dgx9000", "h200x8-nvswitch"}},
    {"a_missing_machine_file", "machines ./input.json", "", "", {"input.json"}},
    {"a_machine_file_that_is_no_json", "machines ./input.json", "", "{\"name\": ", {"input.json"}},
    {"an_unknown_key_of_a_machine", "machines ./input.json", machine, R"({"gpu": {"colour": 1}})", {"input.json", "gpu", "colour"}},
    {"a_machine_number_in_another_unit", "machines ./input.json", machine, R"({"gpu": {"max_clock": {"unit": "GHz"}}})", {"input.json", "gpu.max_clock.unit: expected \"MHz\", got \"GHz\""}},
    {"a_machine_without_gpus", "machines ./input.json", machine, R"({"gpus": 0})", {"input.json", "gpus"}},
    {"a_machine_on_an_unknown_fabric", "machines ./input.json", machine, R"({"fabric": {"kind": "torus"}})", {"input.json", "fabric.kind", "mesh"}},
    {"a_mesh_that_multicasts", "machines ./input.json", mesh, R"({"fabric": {"multicast": {"value": true}}})", {"input.json", "fabric.multicast", "switch"}},
    {"a_pcie_tree_without_a_host", "machines ./input.json", pcie, R"({"fabric": {"host": null}})", {"input.json", "fabric.host"}},
    {"a_candidate_of_two_numbers", "machines ./input.json", pcie, R"({"gemm": {"kernels": {"candidates": [[128, 128]]}}})", {"input.json", "candidates[0]: expected seven integers"}},
    {"a_library_that_only_knows_rings", "machines ./input.json", pcie, R"({"collective_protocols": [{"name": "ring", "algorithm": "ring", "channels": {"value": 2, "unit": "CTAs", "source": "a"}, "channel_bandwidth": {"value": 2, "unit": "GBps", "source": "a"}, "efficiency": {"value": 1, "unit": "ratio", "source": "a"}, "base": {"value": 2, "unit": "us", "source": "a"}, "hop": {"value": 2, "unit": "us", "source": "a"}, "host_hop": {"value": 2, "unit": "us", "source": "a"}}]})", {"input.json", "collective_protocols", "direct"}},
    {"a_machine_whose_links_beat_their_datasheet", "machines ./input.json", mesh, R"({"fabric": {"link_peak": {"value": 40}}})", {"input.json: fabric.link_bandwidth: expected at most fabric.link_peak = 40.0, got 46.55"}},
    {"a_machine_without_sms", "machines ./input.json", mesh, R"({"gpu": {"sms_per_gpc": {"value": []}}})", {"input.json: gpu.sms_per_gpc: expected at least one GPC, got none"}},
    {"a_machine_without_an_end", "machines /dev/zero", "", "", {"/dev/zero: expected at most 128 MB, got more"}},
    // calibrate
    {"nothing_to_fit_to", "calibrate --base h200x8-nvswitch --out new.json", "", "", {"MEASUREMENTS: expected files to fit to, --library-answers, --gemm-times or --errors"}},
    // draw, plan
    {"a_seed_below_zero", "draw --seed -1 --out .", "", "", {"--seed: expected a whole number from 0 to 9007199254740992, got -1"}},
    {"a_seed_of_words", "draw --seed lucky --out .", "", "", {"--seed: expected a whole number from 0 to 9007199254740992, got lucky"}},
    {"a_folder_of_a_draw_that_is_a_file", "draw --seed 1 --out input.json", "", "{}", {"--out: expected a folder, got the file input.json"}},
    {"a_folder_of_a_draw_below_a_file", "draw --seed 1 --out input.json/below", "", "{}", {"input.json/below: expected a folder that can be made"}},
    {"a_folder_without_a_name", "plan --seed 1 --out ''", "", "", {"--out: expected a folder, got an empty name"}},
    {"a_seed_of_a_plan_below_zero", "plan --seed -1 --out .", "", "", {"--seed: expected a whole number from 0 to 9007199254740992, got -1"}},
    // explore
    {"a_scenario_of_a_machine_that_is_not_there", explore, scenario, R"({"machine": "dgx9000"})", {"input.json: machine: expected", "dgx9000", "h200x8-nvswitch"}},
    {"a_scenario_with_a_million_chunks", explore, scenario, R"({"chunks": [1000000]})", {"input.json: chunks[0]: expected an integer from 1 to 1024, got 1000000"}},
    {"a_scenario_without_an_end", "explore /dev/zero --machine h200x8-nvswitch --json out.json", "", "", {"/dev/zero: expected at most 128 MB"}},
    {"a_missing_scenario", explore, "", "", {"input.json"}},
    {"a_scenario_that_is_no_json", explore, "", "{\"m\": [1, 2}", {"input.json", "line 1"}},
    {"a_schedule_for_a_scenario", explore, schedule, "{}", {"input.json", "format", "weft.scenario/1"}},
    {"an_unknown_key_of_a_scenario", explore, scenario, R"({"colour": 1})", {"input.json", "colour"}},
    {"a_scenario_without_its_op", explore, scenario, R"({"op": null})", {"input.json", "op"}},
    {"an_unknown_op", explore, scenario, R"({"op": "gemm+gossip"})", {"input.json", "op", "gemm+gossip"}},
    {"no_rows", explore, scenario, R"({"m": [0]})", {"input.json", "m[0]"}},
    {"a_negative_size", explore, scenario, R"({"n": -8192})", {"input.json", "n"}},
    {"a_size_of_2_to_the_60", explore, scenario, R"({"k": 1152921504606846976})", {"input.json", "k"}},
    {"a_size_in_words", explore, scenario, R"({"n": "many"})", {"input.json", "n", "many"}},
    {"rows_that_the_gpus_do_not_divide", explore, scenario, R"({"m": [2047]})", {"input.json: m: expected", "gpus = 8", "2047"}},
    {"a_matrix_of_2_to_the_62_elements", explore, scenario, R"({"m": [2147483647], "n": 2147483647})", {"input.json: n: expected"}},
    {"an_exploration_into_a_missing_folder", "explore input.json --machine h200x8-nvswitch --schedule schedule.json --json nowhere/out.json", scenario, "{}", {"nowhere/out.json"}},
    {"more_gpus_than_the_machine_has", explore, scenario, R"({"gpus": 16})", {"input.json", "gpus", "8", "16"}},
    {"an_unknown_machine_to_explore_on", "explore input.json --machine dgx9000 --json out.json", scenario, "{}", {"machine", "dgx9000", "h200x8-nvswitch"}},
    {"a_missing_model_of_a_scenario", explore, layer, "{}", {"llama-3.3-70b.config.json"}},
    // predict
    {"missing_cases", "predict --machine h200x8-nvswitch --in input.json --out out.json", "", "", {"input.json"}},
    {"a_folder_of_cases", "predict --machine h200x8-nvswitch --in . --out out.json", "", "", {".: expected a readable file of cases"}},
    {"cases_for_an_unknown_machine", "predict --machine dgx9000 --in input.json --out out.json", scenario, "{}", {"machine", "dgx9000"}},
    {"cases_without_an_end", "predict --machine h200x8-nvswitch --in /dev/zero", "", "", {"expected lines of at most 16 MB"}},
    // simulate
    {"a_schedule_without_an_end", "simulate /dev/zero --machine h200x8-nvswitch --json out.json", "", "", {"/dev/zero: expected at most 128 MB"}},
    {"a_key_that_steers_the_terminal", simulate, schedule, R"({"a\u001b[31m\u202eb\n": 1})", {R"(input.json: a\u001b[31m\u202eb)", "expected one of the keys"}},
    {"more_sms_held_than_there_are", simulate, "", held_sms, {"input.json: hold.held_sms: expected at most the 132 SMs of a GPU, got 133"}},
    {"a_missing_schedule", simulate, "", "", {"input.json"}},
    {"a_schedule_that_is_no_json", simulate, "", "gemm", {"input.json", "line 1"}},
    {"a_scenario_for_a_schedule", simulate, scenario, "{}", {"input.json", "format", "weft.schedule/1"}},
    {"an_unknown_key_of_a_schedule", simulate, schedule, R"({"colour": 1})", {"input.json", "colour"}},
    {"a_schedule_for_another_machine", simulate, schedule, R"({"machine": "mi300x8-mesh"})", {"input.json", "machine", "mi300x8-mesh"}},
    {"a_schedule_for_more_gpus_than_the_machine_has", simulate, "", pause_on_16_gpus, {"input.json", "gpus", "16"}},
    {"a_schedule_without_streams", simulate, schedule, R"({"streams": []})", {"input.json", "stream"}},
    {"a_simulation_into_a_missing_folder", "simulate input.json --machine h200x8-nvswitch --json out.json --trace nowhere/trace.json", schedule, "{}", {"nowhere/trace.json"}},
    // run
    {"a_missing_schedule_to_run", run, "", "", {"input.json"}},
    {"a_schedule_to_run_that_is_no_json", run, "", "gemm", {"input.json", "line 1"}},
    {"an_unknown_key_of_a_schedule_to_run", run, schedule, R"({"colour": 1})", {"input.json", "colour"}},
    {"a_schedule_that_the_gpus_cannot_run", run, signaling, "{}", {"input.json", "operations[0]", "a GEMM kernel that weft does not have"}},
    // measure
    {"guests_who_never_have_a_turn", measure + " --guests there", "", "{}", {"--guests: expected --in-turn beside it"}},
    {"missing_cases_to_measure", measure, "", "", {"input.json"}},
    {"cases_to_measure_that_are_no_json", measure, "", "gemm", {"input.json", "line 1"}},
    {"an_unknown_key_of_a_case_to_measure", measure, "", case_with_a_colour, {"input.json", "line 1", "colour"}},
    // validate
    {"missing_measurements", validate, "", "", {"input.json"}},
    {"measurements_that_are_no_json", validate, "", "{\"case\": ", {"input.json", "line 1"}},
    {"an_unknown_key_of_a_measured_case", validate, "", R"({"case": )" + case_with_a_colour + R"(, "time_us": 5})", {"input.json", "line 1", "colour"}},
    {"measurements_twice", "validate input.json ./input.json --machine h200x8-nvswitch --json out.json", "", "{}", {"./input.json: expected each file once"}},
    {"measurements_without_an_end", "validate /dev/zero --machine h200x8-nvswitch --json out.json", "", "", {"expected lines of at most 16 MB"}},
    {"a_folder_of_measurements", "validate . --machine h200x8-nvswitch --json out.json", "", "", {".: expected a readable file of JSON lines"}},
    {"a_validation_into_a_missing_folder", "validate input.json --machine h200x8-nvswitch --json nowhere/out.json", "", "{}", {"nowhere/out.json"}},
    {"targets_drawn_as_a_picture", "validate input.json --machine h200x8-nvswitch --targets --svg out.svg", "", "{}", {"--targets", "--svg"}},
    // ablate
    {"missing_measurements_to_ablate", "ablate input.json --machine h200x8-nvswitch --json out.json", "", "", {"input.json"}},
    // compare
    {"a_missing_trace", "compare ./input.json ./input.json --trace out.json", "", "", {"input.json"}},
    {"a_schedule_for_a_trace", "compare ./input.json ./input.json", schedule, "{}", {"input.json", "format", "weft.trace/1"}},
    {"an_unknown_key_of_a_trace", "compare ./input.json ./input.json --trace out.json", trace, R"({"colour": 1})", {"input.json", "colour"}},
    {"a_trace_to_a_folder_that_is_missing", "compare ./input.json ./input.json --trace nowhere/out.json", trace, "{}", {"nowhere/out.json"}},
    // clang-format on
};

class RefusedInput : public testing::TestWithParam<BadInput> {};

TEST_P(RefusedInput, IsToldInOneLineAndLeavesNoFile) {
  const BadInput& row = GetParam();
  const TemporaryFolder folder;
  if (!row.base.empty()) {
    auto json = read_json_file(std::filesystem::path(tests::source_folder()) / row.base);
    json.merge_patch(nlohmann::json::parse(row.change));
    folder.write("input.json", json.dump());
  } else if (!row.change.empty()) {
    folder.write("input.json", row.change);
  }
  const auto files_before = folder.file_names();

  const CommandResult result = run_weft(row.arguments, folder);

  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.output, "");
  EXPECT_THAT(result.errors, StartsWith("weft: "));
  EXPECT_EQ(std::count(result.errors.begin(), result.errors.end(), '\n'), 1) << result.errors;
  for (const std::string& word : row.told) EXPECT_THAT(result.errors, HasSubstr(word));
  EXPECT_EQ(folder.file_names(), files_before);
}

/// On a build without CUDA what needs GPUs says so before it touches a file.
class WithoutCuda : public testing::TestWithParam<std::string> {};

TEST_P(WithoutCuda, IsToldInOneLineAndLeavesNoFile) {
  if (calibration::has_device_part()) GTEST_SKIP() << "built with CUDA";
  const TemporaryFolder folder;
  folder.write("pause.json", R"({
    "format": "weft.schedule/1", "name": "pause", "gpus": 1, "buffers": [], "streams": [{"name": "main"}],
    "operations": [{"name": "pause", "stream": "main", "delay": {"time_us": 1}}]})");
  folder.write("sizes.txt", "16 512 512\n");
  folder.write("cases.jsonl", R"({"id": "a", "gpus": 2, "workload": {"op": "all_reduce", "bytes": 1024}})");
  const auto files_before = folder.file_names();

  const CommandResult result = run_weft(GetParam(), folder);

  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.output, "");
  EXPECT_THAT(result.errors, HasSubstr("built without CUDA"));
  EXPECT_EQ(std::count(result.errors.begin(), result.errors.end(), '\n'), 1) << result.errors;
  EXPECT_EQ(folder.file_names(), files_before);
}

INSTANTIATE_TEST_SUITE_P(Commands, WithoutCuda,
                         testing::Values("run pause.json --json out.json",
                                         "measure cases.jsonl --machine h200x8-nvswitch --out out.jsonl",
                                         "ask sizes.txt --out out.jsonl"));

INSTANTIATE_TEST_SUITE_P(Rows, RefusedInput, testing::ValuesIn(rows), [](const auto& row) { return row.param.claim; });

}  // namespace bad_input_test
}  // namespace weft::tests
