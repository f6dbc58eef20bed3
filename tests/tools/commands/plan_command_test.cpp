#include <gmock/gmock.h>

#include <cstdlib>

#include "calibration/evidence/calibration_plan.hpp"
#include "calibration/evidence/measurement_file.hpp"
#include "models/check/hardware_support.hpp"
#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "scenarios/study/settle.hpp"
#include "tests/simulator.hpp"
#include "tests/tools/command_line.hpp"

namespace weft::tests {
namespace plan_command_test {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(PlanCommand, WritesWhatMeasureReads) {
  const TemporaryFolder folder;
  const CommandResult result = run_weft("plan --seed 5 --gpus 1,8 --out .", folder);
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(folder.file_names(),
              ElementsAre("collectives_8gpu.jsonl", "copies_8gpu.jsonl", "gemm.jsonl", "layer_kernels.jsonl",
                          "library_questions.txt", "norms_8gpu.jsonl", "own_gemm.jsonl", "pairs_8gpu.jsonl",
                          "peers_8gpu.jsonl", "signals_8gpu.jsonl", "windows_8gpu.jsonl"));
  for (const calibration::evidence::PlanFile& file : calibration::evidence::calibration_plan(5, {1, 8}))
    EXPECT_EQ(calibration::evidence::read_cases(folder.path() / (file.name + ".jsonl")), file.cases) << file.name;
}

TEST(PlanCommand, RefusesANumberOfGpusThatItHasNoPlanFor) {
  const TemporaryFolder folder;
  const CommandResult result = run_weft("plan --seed 1 --gpus 3 --out .", folder);
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.errors, HasSubstr("gpus: expected 1, 2, 4 or 8, got 3"));
  EXPECT_TRUE(folder.file_names().empty());
}

TEST(CalibrationPlan, IsRunnableOnAMachineWithEightGpus) {
  const Machine machine = read_machine(machine_path("h200x8-nvswitch"));
  for (const calibration::evidence::PlanFile& file : calibration::evidence::calibration_plan(1, {1, 2, 4, 8}))
    for (const scenarios::Case& one : file.cases) {
      const auto reason = why_not_runnable(scenarios::study::close_case(one, machine, simulator()).schedule);
      EXPECT_FALSE(reason) << file.name << " " << one.id << ": " << reason->what();
    }
}

TEST(AskCommand, RefusesALineThatIsNoSize) {
  const TemporaryFolder folder;
  folder.write("questions.txt", "16 512 512\n16 512\n");
  const CommandResult result = run_weft("ask questions.txt --out answers.jsonl", folder);
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.errors, HasSubstr("questions.txt: line 2: expected three sizes m n k, got \"16 512\""));
}

}  // namespace plan_command_test
}  // namespace weft::tests
