#include <gmock/gmock.h>

#include "tests/tools/command_line.hpp"

namespace weft::tests {
namespace machines_command_test {

// Descriptions begin with a digit, "8x H200 SXM …", and are no numbers.
TEST(MachinesCommand, SetsDescriptionsToTheLeft) {
  const TemporaryFolder folder;
  const CommandResult result = run_weft("machines --format markdown", folder);
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.output, testing::StartsWith("| name | what it is |\n| :-- | :-- |\n"));
}

TEST(MachinesCommand, SaysWhatANumberMeansAndMayBe) {
  const TemporaryFolder folder;
  const CommandResult result = run_weft("machines h200x8-nvswitch --format csv", folder);
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.output, testing::StartsWith("number,value,unit,meaning,may be,source\n"));
  EXPECT_THAT(result.output,
              testing::HasSubstr("\ngpu.max_clock,1980,MHz,SM clock while nothing lowers it,100 to 10000,"));
}

}  // namespace machines_command_test
}  // namespace weft::tests
