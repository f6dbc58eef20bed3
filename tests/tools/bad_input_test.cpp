// Bad input ends in exit status 2 and one line on standard error that names the file and the field, and leaves no file.
#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "models/json_file.hpp"
#include "tests/tools/command_line.hpp"

namespace weft::tests {
namespace {

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

const std::string machine = "calibration/machines/h200x8-nvswitch.json";
const std::string trace = "tests/tools/inputs/predicted.json";

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
    {"a_machine_number_in_another_unit", "machines ./input.json", machine, R"({"gpu": {"max_clock": {"unit": "GHz"}}})", {"input.json", "gpu.max_clock", "MHz"}},
    {"a_machine_without_gpus", "machines ./input.json", machine, R"({"gpus": 0})", {"input.json", "gpus"}},
    // compare
    {"a_missing_trace", "compare ./input.json ./input.json --trace out.json", "", "", {"input.json"}},
    {"a_schedule_for_a_trace", "compare ./input.json ./input.json", "tests/schedules/async_tp_all_gather_gemm.json", "{}", {"input.json", "format", "weft.trace/1"}},
    {"an_unknown_key_of_a_trace", "compare ./input.json ./input.json --trace out.json", trace, R"({"colour": 1})", {"input.json", "colour"}},
    {"a_trace_to_a_folder_that_is_missing", "compare ./input.json ./input.json --trace nowhere/out.json", trace, "{}", {"nowhere/out.json"}},
    // clang-format on
};

class RefusedInput : public testing::TestWithParam<BadInput> {};

TEST_P(RefusedInput, IsToldInOneLineAndLeavesNoFile) {
  const BadInput& row = GetParam();
  const TemporaryFolder folder;
  if (!row.base.empty()) {
    auto json = read_json_file(std::filesystem::path(WEFT_SOURCE_DIR) / row.base);
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

INSTANTIATE_TEST_SUITE_P(Rows, RefusedInput, testing::ValuesIn(rows), [](const auto& row) { return row.param.claim; });

}  // namespace
}  // namespace weft::tests
