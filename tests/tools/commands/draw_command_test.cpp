#include <gmock/gmock.h>

#include "models/base/gzip_file.hpp"
#include "tests/source_folder.hpp"
#include "tests/tools/command_line.hpp"

namespace weft::tests {
namespace draw_command_test {

using testing::HasSubstr;

TEST(DrawCommand, DrawsTheCommittedValidationCasesAgain) {
  const TemporaryFolder folder;
  const CommandResult result = run_weft("draw --seed 20261121 --gpus 2,4,8 --out .", folder);
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("cases_2gpu.jsonl: 958 cases"));
  for (const std::string name : {"cases_2gpu.jsonl", "cases_4gpu.jsonl", "cases_8gpu.jsonl"}) {
    const std::string committed = tests::source_folder() + "/calibration/measurements/validation-cases/" + name + ".gz";
    EXPECT_EQ(folder.read(name), read_gzip_file(committed, "cases")) << name;
  }
}

TEST(DrawCommand, RefusesANumberOfGpusThatItHasNoShapesFor) {
  const TemporaryFolder folder;
  const CommandResult result = run_weft("draw --seed 1 --gpus 2,3 --out .", folder);
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.errors, HasSubstr("gpus: expected 2, 4 or 8, got 3"));
}

TEST(DrawCommand, MakesTheFolder) {
  const TemporaryFolder folder;
  EXPECT_EQ(run_weft("draw --seed 1 --gpus 2 --out missing/of_two", folder).status, 0);
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "missing/of_two/cases_2gpu.jsonl"));
}

}  // namespace draw_command_test
}  // namespace weft::tests
