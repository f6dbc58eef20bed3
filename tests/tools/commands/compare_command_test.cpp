#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "models/base/json_file.hpp"
#include "tests/source_folder.hpp"
#include "tests/tools/command_line.hpp"

namespace weft::tests {
namespace compare_command_test {

using testing::HasSubstr;

const std::string inputs = tests::source_folder() + "/tests/tools/inputs/";
const std::string compare = "compare " + inputs + "predicted.json " + inputs + "measured.json";

TEST(CompareCommand, PrintsTheErrorOfEachOperationAndOfTheIteration) {
  const TemporaryFolder folder;
  const CommandResult result = run_weft(compare, folder);
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("gemm"));
  EXPECT_THAT(result.output, HasSubstr("-23.1 %"));  // reduce_scatter: 50 / 65 - 1
  EXPECT_THAT(result.output, HasSubstr("-20.0 %"));  // iteration: 100 / 125 - 1
}

TEST(CompareCommand, WritesTheSameNumbersAsJson) {
  const TemporaryFolder folder;
  run_weft(compare + " --json out.json", folder);
  const auto json = read_json_file(folder.path() / "out.json");
  EXPECT_DOUBLE_EQ(json["iteration"]["error"].get<double>(), 100.0 / 125 - 1);
  ASSERT_EQ(json["operations"].size(), 2u);
  EXPECT_EQ(json["operations"][1]["operation"], "reduce_scatter");
  EXPECT_DOUBLE_EQ(json["operations"][1]["duration"]["error"].get<double>(), 50.0 / 65 - 1);
}

TEST(CompareCommand, RefusesTheMeasurementInPlaceOfThePrediction) {
  const TemporaryFolder folder;
  const CommandResult result = run_weft("compare " + inputs + "measured.json " + inputs + "predicted.json", folder);
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.errors, HasSubstr("measured.json: expected the prediction first"));
}

TEST(CompareCommand, WritesBothRunsIntoOnePicture) {
  const TemporaryFolder folder;
  run_weft(compare + " --trace out.json", folder);
  const std::string picture = folder.read("out.json");
  EXPECT_THAT(picture, HasSubstr("predicted GPU 0"));
  EXPECT_THAT(picture, HasSubstr("measured GPU 0"));
}

TEST(CompareCommand, DrawsBothRuns) {
  const TemporaryFolder folder;
  EXPECT_EQ(run_weft(compare + " --svg out.svg", folder).status, 0);
  const std::string picture = folder.read("out.svg");
  EXPECT_THAT(picture, testing::StartsWith("<svg"));
  EXPECT_THAT(picture, HasSubstr(">predicted "));
  EXPECT_THAT(picture, HasSubstr(">measured "));
}

TEST(CompareCommand, RefusesRunsOfDifferentSchedules) {
  const TemporaryFolder folder;
  auto other = read_json_file(inputs + "measured.json");
  for (auto& span : other["spans"]) span["operation"] = "other " + span["operation"].get<std::string>();
  folder.write("other.json", other.dump());
  const CommandResult result = run_weft("compare " + inputs + "predicted.json other.json --json out.json", folder);
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.errors, HasSubstr("other.json: expected a run of the schedule"));
  EXPECT_THAT(folder.file_names(), testing::ElementsAre("other.json"));
}

}  // namespace compare_command_test
}  // namespace weft::tests
