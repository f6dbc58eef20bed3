// What tools/sanitize_kernels runs: cases that a machine with Hopper GPUs can run.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "scenarios/case_json.hpp"
#include "scenarios/study/prediction.hpp"
#include "tests/simulator.hpp"
#include "tests/source_folder.hpp"

namespace weft::calibration {
namespace kernel_cases_test {

TEST(KernelCases, AreRunOnHopperAndOfEveryKind) {
  const Machine machine = read_machine(machine_path("h200x8-nvswitch"));
  std::ifstream cases(tests::source_folder() + "/tests/calibration/kernel_cases.jsonl");
  std::set<std::string> ids, families;
  for (std::string line; std::getline(cases, line);) {
    const scenarios::Case one = scenarios::case_from_json(nlohmann::json::parse(line));
    const scenarios::study::Prediction prediction = scenarios::study::predict(one, machine, tests::simulator());
    EXPECT_TRUE(prediction.runnable) << one.id;
    EXPECT_TRUE(ids.insert(one.id).second) << one.id;
    families.insert(prediction.schedule.family);
  }
  EXPECT_GE(ids.size(), 40u);
  EXPECT_TRUE(families.contains("signaling") && families.contains("staged") && families.contains("token_split"));
}

}  // namespace kernel_cases_test
}  // namespace weft::calibration
