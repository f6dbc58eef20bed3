// weft validate and weft ablate, on a small file of measurements.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "models/base/json_file.hpp"
#include "sim/simulated_executor.hpp"
#include "tests/compressed.hpp"
#include "tests/source_folder.hpp"
#include "tests/tools/command_line.hpp"

namespace weft::tests {
namespace validate_command_test {

using testing::HasSubstr;
using testing::Not;

class Validate : public testing::Test {
 protected:
  Validate() {
    folder.write("measured.jsonl", R"({"conditions": {"gpu": "a GPU"}}
{"case": {"id": "0", "gpus": 2, "workload": {"op": "gemm", "m": 8192, "n": 8192, "k": 4096, "dtype": "bf16"}}, "time_us": 800}
{"case": {"id": "1", "gpus": 2, "workload": {"op": "all_reduce", "bytes": 134217728}}, "time_us": 450}
{"case": {"id": "2", "gpus": 2, "workload": {"op": "gemm+all_reduce", "m": 8192, "n": 8192, "k": 4096, "dtype": "bf16"}}, "time_us": 1250}
{"case": {"id": "3", "gpus": 2, "workload": {"op": "gemm+all_reduce", "m": 8192, "n": 8192, "k": 4096, "dtype": "bf16"}, "schedule": {"family": "decomposition", "chunks": 2}}, "time_us": 1100}
)");
  }
  CommandResult run(const std::string& arguments) const { return run_weft(arguments + machine, folder); }

  const TemporaryFolder folder;
  const std::string machine = " --machine h200x8-nvswitch";
};

TEST_F(Validate, PrintsErrorsByKindAndTheChoice) {
  const CommandResult result = run("validate measured.jsonl");
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("gemm+all_reduce | decomposition 2 | 2 GPUs"));
  EXPECT_THAT(result.output, HasSubstr("1.25 to 2"));  // 800 / 450
  EXPECT_THAT(result.output, HasSubstr("always serial, mean"));
}

TEST_F(Validate, WritesTheSameNumbersAsJsonAndAPicture) {
  EXPECT_EQ(run("validate measured.jsonl --json out.json --svg out.svg").status, 0);
  const auto json = read_json_file(folder.path() / "out.json");
  EXPECT_EQ(json["accuracy"]["family"]["decomposition 2"]["cases"], 1);
  EXPECT_EQ(json["accuracy"]["all"]["all"]["cases"], 4);
  EXPECT_NEAR(json["choice"]["mean_regret_of_serial"]["share"].get<double>(), 1250.0 / 1100 - 1, 1e-12);
  EXPECT_THAT(folder.read("out.svg"), testing::StartsWith("<svg"));
}

TEST_F(Validate, SaysTheSameOfACompressedFile) {
  folder.write("measured.jsonl.gz", compressed(folder.read("measured.jsonl")));
  const CommandResult result = run("validate measured.jsonl.gz");
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_EQ(result.output, run("validate measured.jsonl").output);
}

TEST_F(Validate, RefusesACompressedFileThatIsCutOff) {
  const std::string whole = compressed(folder.read("measured.jsonl"));
  folder.write("measured.jsonl.gz", whole.substr(0, whole.size() - 5));
  const CommandResult result = run("validate measured.jsonl.gz --json out.json");
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.errors, "weft: measured.jsonl.gz: expected JSON lines in a whole gzip file\n");
  EXPECT_THAT(folder.file_names(), Not(testing::Contains("out.json")));
}

TEST_F(Validate, GivenTheMeasuredPartsSerialIsNearTheirSum) {
  const CommandResult result = run("validate measured.jsonl --given --rows --json out.json");
  EXPECT_EQ(result.status, 0) << result.errors;
  const auto json = read_json_file(folder.path() / "out.json");
  EXPECT_EQ(json["accuracy"]["all"]["all"]["cases"], 2);
  EXPECT_LT(json["accuracy"]["family"]["serial"]["max_error"].get<double>(), 0.1);
}

TEST_F(Validate, GivenNeedsThePartsInTheFile) {
  folder.write(
      "pairs.jsonl",
      R"({"case": {"id": "2", "gpus": 2, "workload": {"op": "gemm+all_reduce", "m": 8192, "n": 8192, "k": 4096, "dtype": "bf16"}}, "time_us": 1250})");
  const CommandResult result = run("validate pairs.jsonl --given");
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.errors, HasSubstr("pairs.jsonl: expected pairs beside both of their parts, got none"));
}

TEST_F(Validate, PrintsWhichTargetsAreMet) {
  const CommandResult result = run("validate measured.jsonl --targets --json out.json");
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("GEMM alone, from 1e11 operations"));
  EXPECT_THAT(result.output, HasSubstr("no cases"));
  EXPECT_EQ(read_json_file(folder.path() / "out.json")["targets"][0]["cases"], 1);
}

TEST_F(Validate, RefusesAProfileOfAnotherMakersGpus) {
  const CommandResult result =
      run_weft("validate " + tests::source_folder() +
                   "/calibration/measurements/beyond-2026-12-01/h200.jsonl.gz --machine mi300x8-mesh",
               folder);
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.errors, HasSubstr("expected a profile of GPUs by the maker of NVIDIA H200"));
}

TEST_F(Validate, RefusesAFileWithoutMeasurements) {
  folder.write("empty.jsonl", "");
  const CommandResult result = run("validate empty.jsonl --json out.json");
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.errors, HasSubstr("empty.jsonl: expected a measured case, got none"));
  EXPECT_THAT(folder.file_names(), Not(testing::Contains("out.json")));
}

TEST_F(Validate, AblationSwitchesEveryMechanismOffOnce) {
  const CommandResult result = run("ablate measured.jsonl --json out.json");
  EXPECT_EQ(result.status, 0) << result.errors;
  const auto json = read_json_file(folder.path() / "out.json")["switched_off"];
  EXPECT_EQ(json.size(), 1 + sim::named_mechanisms.size());
  EXPECT_NE(json["power"]["bias"], json["none"]["bias"]);  // these GEMMs run at the power limit
}

}  // namespace validate_command_test
}  // namespace weft::tests
