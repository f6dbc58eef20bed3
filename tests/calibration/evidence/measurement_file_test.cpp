#include "calibration/evidence/measurement_file.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "calibration/measurement_json.hpp"
#include "scenarios/case_json.hpp"
#include "tests/calibration/evidence/lines_of_before.hpp"
#include "tests/source_folder.hpp"
#include "tests/temporary_folder.hpp"

namespace weft::calibration::evidence {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class MeasurementFile : public testing::Test {
 protected:
  MeasurementFileWriter writer(bool has_kernels = true) const { return {folder.path() / "file.jsonl", has_kernels}; }
  std::vector<MeasuredCase> read() const { return read_measurements_and_kernels(folder.path() / "file.jsonl"); }
  std::string error() const {
    try {
      read();
    } catch (const InputError& refused) {
      return refused.what();
    }
    return "";
  }

  const tests::TemporaryFolder folder;
  const scenarios::Case gemm{"a", 2, scenarios::GemmWorkload{256, 512, 1024}, {}, {}};
  const scenarios::Case other{"b", 2, scenarios::GemmWorkload{512, 512, 1024}, {}, {}};
  const KernelLaunch fill{"memset", {}, {}, {}, 0, 0, 0},
      kernel{"nvjet", {66, 2, 1}, {384, 1, 1}, {2, 1, 1}, 168, 0, 9};
};

Measurement taking(double time_us) {
  Measurement measurement;
  measurement.time_us = time_us;
  return measurement;
}

// What was measured before there were kernel files: nothing of it may be lost.
TEST_F(MeasurementFile, KeepsEveryFieldOfTheLinesOfBefore) {
  const std::vector<nlohmann::json> before =
      lines_in(tests::source_folder() + "/tests/calibration/inputs/measured_before_kernel_files.jsonl");
  ASSERT_EQ(before.size(), 9u);
  write_as_now(before, folder.path() / "file.jsonl");
  EXPECT_EQ(as_before(folder.path() / "file.jsonl"), before);
}

TEST_F(MeasurementFile, WritesEachLaunchOnce) {
  {
    MeasurementFileWriter file = writer();
    for (const scenarios::Case& one : {gemm, other}) {
      file.add(one, taking(5));
      file.add_kernels(one, {{"gemm", fill, 0, "s0", 4, 0, 1}, {"gemm", kernel, 0, "s0", 0, 1.5, 5}});
    }
  }
  const std::vector<nlohmann::json> lines = lines_in(folder.path() / "file.kernels");
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0]["kernel"], "memset");
  EXPECT_EQ(lines[1]["launch"], 1);
  EXPECT_EQ(lines[2]["kernels"], nlohmann::json::parse(R"([["gemm", "s0", 0, 4, [[0, 0, 1000]]],
                                                           ["gemm", "s0", 1, 0, [[0, 1500, 5000]]]])"));
  EXPECT_EQ(lines[3]["line"], 2);
}

TEST_F(MeasurementFile, GoesOnWhereAnInterruptedRunStopped) {
  {
    MeasurementFileWriter file = writer();
    file.add(Conditions{});
    file.add_error(other, "it was interrupted");
    file.add(gemm, taking(5));
    file.add_kernels(gemm, {{"gemm", kernel, 0, "s0", 0, 0, 5}});
  }
  MeasurementFileWriter file = writer();
  EXPECT_TRUE(file.holds(gemm));
  EXPECT_FALSE(file.holds(other));
  file.add(Conditions{});
  file.add(other, taking(7));
  file.add_kernels(other, {{"gemm", kernel, 1, "s0", 0, 0, 7}});
  const std::vector<MeasuredCase> cases = read();
  ASSERT_EQ(cases.size(), 2u);
  EXPECT_EQ(cases[1].time_us, 7);
  EXPECT_EQ(cases[1].kernels.at(0).launch, kernel);
  EXPECT_EQ(cases[1].kernels[0].gpu, 1);
  EXPECT_NE(cases[0].run, cases[1].run);
}

TEST_F(MeasurementFile, WithoutKernelsHasNoFileBesideIt) {
  writer(false).add(gemm, taking(5));
  EXPECT_THAT(folder.file_names(), testing::ElementsAre("file.jsonl"));
  EXPECT_THAT(read().at(0).kernels, IsEmpty());
}

TEST_F(MeasurementFile, LeavesOutWhatHotGpusTookAndMeasuresItAgain) {
  {
    MeasurementFileWriter file = writer();
    Measurement hot = taking(9);
    hot.gpus.held_back_by = {"thermal"};
    file.add(gemm, hot);
    file.add_kernels(gemm, {{"gemm", kernel, 0, "s0", 0, 0, 5}});
    file.add(other, taking(7));
  }
  ASSERT_EQ(read().size(), 1u);
  EXPECT_EQ(read()[0].time_us, 7);
  EXPECT_FALSE(writer().holds(gemm));
}

TEST_F(MeasurementFile, RefusesKernelsOfACaseThatStandsElsewhere) {
  MeasurementFileWriter file = writer();
  file.add(gemm, taking(5));
  file.add_kernels(gemm, {{"gemm", kernel, 0, "s0", 0, 0, 5}});
  folder.write("file.jsonl", R"({"case": {"id": "c", "gpus": 2, "workload": {"op": "all_reduce", "bytes": 64}},)"
                             R"( "time_us": 9})");
  EXPECT_THAT(error(), HasSubstr("file.kernels: expected the case \"a\" in line 1 of"));
}

TEST_F(MeasurementFile, RefusesKernelsInTheLineOfACase) {
  folder.write("file.jsonl", R"({"case": {"id": "c", "gpus": 2, "workload": {"op": "all_reduce", "bytes": 64}},)"
                             R"( "time_us": 9, "kernels": []})");
  EXPECT_THAT(error(), HasSubstr("file.jsonl: line 1: kernels: expected them in file.kernels"));
}

TEST_F(MeasurementFile, RefusesAKernelWhoseLaunchIsMissing) {
  folder.write("file.jsonl", "");
  folder.write("file.kernels", R"({"line": 1, "id": "a", "kernels": [["gemm", "s0", 3, 0, []]]})");
  EXPECT_THAT(error(), HasSubstr("file.kernels: line 1: kernels[0][2]: expected"));
}

}  // namespace
}  // namespace weft::calibration::evidence
