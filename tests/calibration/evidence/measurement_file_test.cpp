#include "calibration/evidence/measurement_file.hpp"

#include <gmock/gmock.h>

#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>

#include "calibration/measurement_json.hpp"
#include "scenarios/case_json.hpp"
#include "tests/calibration/evidence/lines_of_before.hpp"
#include "tests/compressed.hpp"
#include "tests/models/error_of.hpp"
#include "tests/source_folder.hpp"
#include "tests/temporary_folder.hpp"

namespace weft::calibration::evidence {
namespace measurement_file_test {

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

std::string six_digits(double value) {
  std::ostringstream text;
  text << std::setprecision(6) << value;
  return text.str();
}

void keep_six_digits(nlohmann::json& value) {
  if (value.is_structured())
    for (nlohmann::json& part : value) keep_six_digits(part);
  else if (value.is_number_float())
    value = std::stod(six_digits(value.get<double>()));
}

// What was measured before there were kernel files: nothing of it may be lost but what no timer tells.
TEST_F(MeasurementFile, KeepsEveryFieldOfTheLinesOfBefore) {
  const std::vector<nlohmann::json> before =
      lines_in(tests::source_folder() + "/tests/calibration/inputs/measured_before_kernel_files.jsonl");
  ASSERT_EQ(before.size(), 9u);
  write_as_now(before, folder.path() / "file.jsonl");
  std::vector<nlohmann::json> kept = before, found = as_before(folder.path() / "file.jsonl");
  for (nlohmann::json& line : kept)
    for (auto& [field, value] : line.items())
      if (field != "case" && field != "conditions" && field != "kernels") keep_six_digits(value);
  for (std::vector<nlohmann::json>* lines : {&kept, &found})
    for (nlohmann::json& line : *lines) line.erase("noise");  // follows from the repeats
  EXPECT_EQ(found, kept);
}

TEST_F(MeasurementFile, KeepsSixDigitsOfWhatWasMeasured) {
  Measurement measured = taking(12345.678912345);
  measured.repeats_us = {0.0123456789, 7};
  {
    MeasurementFileWriter file = writer(false);
    file.add(gemm, measured);
  }
  const MeasuredCase kept = read().at(0);
  EXPECT_EQ(kept.time_us, 12345.7);
  EXPECT_EQ(kept.repeats_us, (std::vector<double>{0.0123457, 7}));
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

TEST_F(MeasurementFile, TakesMeasurementsOfOneKind) {
  const auto error = [&](Condition condition, bool in_turn) {
    return error_of([&] { writer(false).require_measured_so(condition, in_turn); });
  };
  EXPECT_EQ(error(Condition::sustained, true), "");  // there is none yet
  {
    MeasurementFileWriter file = writer(false);
    Measurement under_load = taking(5);
    under_load.condition = Condition::sustained;
    file.add(gemm, under_load);
    for (const std::string& id : {"a", "z"}) {  // on either side of it, by what they ask for
      scenarios::Case later = other;
      later.id = id;
      file.add(later, under_load);
    }
  }
  EXPECT_EQ(error(Condition::sustained, false), "");
  EXPECT_THAT(error(Condition::after_pause, false),
              HasSubstr("file.jsonl:1: expected a case measured after a pause, got one measured alone under load"));
  EXPECT_THAT(error(Condition::sustained, true), HasSubstr("expected a case measured in turn, got one measured alone"));
}

TEST_F(MeasurementFile, AppearsWithItsFirstLine) {
  {
    MeasurementFileWriter file = writer();
    EXPECT_THAT(folder.file_names(), IsEmpty());
    EXPECT_FALSE(file.holds(gemm));
  }
  EXPECT_THAT(folder.file_names(), IsEmpty());
}

/// What a run leaves that is cut off after so many bytes of its files, goes on, and measures what is missing.
class CutOffMeasurementFile : public MeasurementFile {
 protected:
  void SetUp() override {
    measure();
    whole = folder.read("file.jsonl"), kernels = folder.read("file.kernels");
  }
  void measure() const {
    MeasurementFileWriter file = writer();
    for (const scenarios::Case& one : {gemm, other}) {
      if (file.holds(one)) continue;
      const double time_us = one.id == "a" ? 5 : 7;
      file.add(one, taking(time_us));
      file.add_kernels(one, {{"gemm", one.id == "a" ? fill : kernel, 0, "s0", 0, 0, time_us}});
    }
  }
  void go_on_after(std::size_t bytes, std::size_t kernel_bytes) const {
    folder.write("file.jsonl", whole.substr(0, bytes));
    folder.write("file.kernels", kernels.substr(0, kernel_bytes));
    measure();
  }
  std::string whole, kernels;
};

// The disk may have kept more of the kernels than of the cases.
TEST_F(CutOffMeasurementFile, MeasuresALineWithoutItsEndAgain) {
  for (std::size_t bytes = whole.find('\n') + 1; bytes <= whole.size(); ++bytes) {
    go_on_after(bytes, kernels.size());
    EXPECT_EQ(folder.read("file.jsonl"), whole) << bytes;
    const std::vector<MeasuredCase> cases = read();
    ASSERT_EQ(cases.size(), 2u);
    EXPECT_EQ(cases[0].kernels.at(0).launch, fill);
    EXPECT_EQ(cases[1].kernels.at(0).launch, kernel);
  }
}

TEST_F(CutOffMeasurementFile, MeasuresACaseWhoseKernelsWereCutOffAgain) {
  for (std::size_t bytes = 0; bytes <= kernels.size(); ++bytes) {
    go_on_after(whole.size(), bytes);
    const std::vector<MeasuredCase> cases = read();
    ASSERT_EQ(cases.size(), 2u);
    EXPECT_EQ(cases[0].time_us, 5);
    EXPECT_EQ(cases[1].time_us, 7);
    EXPECT_EQ(cases[0].kernels.at(0).launch, fill) << bytes;
    EXPECT_EQ(cases[1].kernels.at(0).launch, kernel) << bytes;
  }
}

TEST_F(CutOffMeasurementFile, MeasuresAllAgainWhereNoLineIsWhole) {
  for (std::size_t bytes = 0; bytes <= whole.find('\n'); ++bytes) {
    go_on_after(bytes, 0);
    EXPECT_EQ(folder.read("file.jsonl"), whole) << bytes;
    EXPECT_EQ(folder.read("file.kernels"), kernels) << bytes;
  }
}

TEST_F(CutOffMeasurementFile, DropsNoKernelsOfOtherMeasurements) {
  for (const std::string& other_file : {std::string(), whole.substr(whole.find('\n') + 1)}) {
    folder.write("file.jsonl", other_file);
    EXPECT_THROW(writer(), InputError);
    EXPECT_EQ(folder.read("file.kernels"), kernels);
  }
  EXPECT_THROW(MeasurementFileWriter(folder.path() / "file", true), InputError);
  EXPECT_THAT(folder.file_names(), testing::ElementsAre("file.jsonl", "file.kernels"));
}

TEST_F(CutOffMeasurementFile, LosesKernelsWithTheirCaseWhereNoneAreAskedFor) {
  folder.write("file.jsonl", whole.substr(0, whole.size() - 1));
  writer(false).add(other, taking(9));
  ASSERT_EQ(read().size(), 2u);
  EXPECT_EQ(read()[1].time_us, 9);
  EXPECT_THAT(read()[1].kernels, IsEmpty());
}

TEST_F(MeasurementFile, DropsNothingOfAnotherKindOfFile) {
  folder.write("file.jsonl", "{\"format\": \"weft.machine/1\"}");
  EXPECT_THROW(writer(), InputError);
  EXPECT_EQ(folder.read("file.jsonl"), "{\"format\": \"weft.machine/1\"}");
}

TEST_F(MeasurementFile, IsOfOneRunAtATime) {
  const auto refused = [&] {
    try {
      writer();
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  {
    MeasurementFileWriter first = writer();
    MeasurementFileWriter second = writer();  // neither has measured anything yet
    first.add(gemm, taking(5));
    EXPECT_THAT(refused(), HasSubstr("file.jsonl: expected no other run to write it"));
    EXPECT_THROW(second.add(other, taking(7)), InputError);
  }
  EXPECT_EQ(refused(), "");
  EXPECT_EQ(read().size(), 1u);
}

TEST_F(MeasurementFile, WithoutKernelsHasNoFileBesideIt) {
  writer(false).add(gemm, taking(5));
  EXPECT_THAT(folder.file_names(), testing::ElementsAre("file.jsonl"));
  EXPECT_THAT(read().at(0).kernels, IsEmpty());
}

/// What a run wrote, of which some is compressed afterwards.
class CompressedMeasurementFile : public MeasurementFile {
 protected:
  void SetUp() override {
    MeasurementFileWriter file = writer();
    file.add(gemm, taking(5));
    file.add_kernels(gemm, {{"gemm", kernel, 0, "s0", 0, 0, 5}});
    whole = tests::compressed(folder.read("file.kernels"));
  }
  void replace(const std::string& name) const {
    folder.write(name + ".gz", tests::compressed(folder.read(name)));
    std::filesystem::remove(folder.path() / name);
  }
  std::string whole;
};

TEST_F(CompressedMeasurementFile, HoldsTheSameAsThePlainOne) {
  const std::vector<nlohmann::json> lines = as_before(folder.path() / "file.jsonl");
  ASSERT_EQ(read().at(0).kernels.size(), 1u);
  replace("file.kernels");
  EXPECT_EQ(as_before(folder.path() / "file.jsonl"), lines);
  replace("file.jsonl");
  EXPECT_EQ(as_before(folder.path() / "file.jsonl.gz"), lines);
}

TEST_F(CompressedMeasurementFile, IsNotReadWhereThereIsAPlainOne) {
  folder.write("file.kernels.gz", "");
  EXPECT_EQ(read().at(0).kernels.size(), 1u);
}

TEST_F(CompressedMeasurementFile, OfKernelsIsToldByNameWhereItIsCutOff) {
  std::filesystem::remove(folder.path() / "file.kernels");
  folder.write("file.kernels.gz", whole.substr(0, whole.size() / 2));
  EXPECT_THAT(error(), testing::EndsWith("file.kernels.gz: expected JSON lines in a whole gzip file"));
}

TEST_F(CompressedMeasurementFile, IsNotAddedTo) {
  replace("file.kernels");
  for (const bool has_kernels : {false, true}) EXPECT_THROW(writer(has_kernels), InputError);
  EXPECT_THROW(MeasurementFileWriter(folder.path() / "other.jsonl.gz", false), InputError);
  EXPECT_THAT(folder.file_names(), testing::ElementsAre("file.jsonl", "file.kernels.gz"));
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

}  // namespace measurement_file_test
}  // namespace weft::calibration::evidence
