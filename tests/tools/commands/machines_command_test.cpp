#include <gmock/gmock.h>

#include "tests/tools/command_line.hpp"

namespace weft::tests {
namespace {

// Descriptions begin with a digit, "8x H200 SXM …", and are no numbers.
TEST(MachinesCommand, SetsDescriptionsToTheLeft) {
  const TemporaryFolder folder;
  const CommandResult result = run_weft("machines --format markdown", folder);
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.output, testing::StartsWith("| name | what it is |\n| :-- | :-- |\n"));
}

}  // namespace
}  // namespace weft::tests
