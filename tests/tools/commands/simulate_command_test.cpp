#include <gmock/gmock.h>

#include "tests/tools/command_line.hpp"

namespace weft::tests {
namespace simulate_command_test {

using testing::HasSubstr;
using testing::Not;

/// With serial.json and own.json of one pair, and other.json of fewer GPUs.
class SimulateCommand : public testing::Test {
 protected:
  SimulateCommand() {
    const std::string workload = R"("workload": {"op": "gemm+reduce_scatter", "m": 4096, "n": 4096, "k": 4096})";
    folder.write("cases.jsonl",
                 R"({"id": "serial", "gpus": 4, )" + workload + R"(, "schedule": {"family": "serial"}})" + "\n" +
                     R"({"id": "own", "gpus": 4, )" + workload + R"(, "schedule": {"family": "async_tp"}})" + "\n" +
                     R"({"id": "other", "gpus": 2, )" + workload + R"(, "schedule": {"family": "serial"}})" + "\n");
    run_weft("predict --machine h200x8-nvswitch --in cases.jsonl --schedules . --out answers.jsonl", folder);
  }
  TemporaryFolder folder;
};

TEST_F(SimulateCommand, SaysWhatIsGainedOverAnotherScheduleAndWhereTheTimeOfBothGoes) {
  const CommandResult result = run_weft("simulate own.json --machine h200x8-nvswitch --against serial.json", folder);
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("perfect overlap"));
  EXPECT_THAT(result.output, HasSubstr("+ exposed communication"));
  EXPECT_THAT(result.output, HasSubstr("x over serial.json."));
  const CommandResult itself = run_weft("simulate own.json --machine h200x8-nvswitch --against own.json", folder);
  EXPECT_THAT(itself.output, HasSubstr("1.000x over own.json."));
}

TEST_F(SimulateCommand, RefusesAScheduleOfOtherGpusToCompareWith) {
  const CommandResult result = run_weft("simulate own.json --machine h200x8-nvswitch --against other.json", folder);
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.errors, "weft: other.json: expected a schedule for 4 GPUs, got 2\n");
}

TEST_F(SimulateCommand, SaysWhereAMachineCannotRunTheSchedule) {
  EXPECT_THAT(run_weft("simulate own.json --machine rtx4090x8-pcie", folder).output,
              HasSubstr("weft run cannot run it there: operations[0]"));
  EXPECT_THAT(run_weft("simulate serial.json --machine rtx4090x8-pcie", folder).output, Not(HasSubstr("cannot run")));
}

}  // namespace simulate_command_test
}  // namespace weft::tests
