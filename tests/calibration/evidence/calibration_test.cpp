#include "calibration/evidence/calibration.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "calibration/evidence/calibration_profile.hpp"
#include "calibration/evidence/turns.hpp"
#include "models/base/json_file.hpp"
#include "models/machine/gemm_choices_file.hpp"
#include "models/machine/gemm_choices_text.hpp"
#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "scenarios/study/prediction.hpp"
#include "tests/models/error_of.hpp"
#include "tests/simulator.hpp"
#include "tests/source_folder.hpp"

namespace weft::calibration::evidence {
namespace calibration_test {

using nlohmann::json;
using testing::HasSubstr;

class CalibratedFrom : public testing::Test {
 protected:
  static CalibratedProfile calibrated(const std::string& name, const CalibrationEvidence& evidence) {
    const std::filesystem::path path = machine_path(name);
    const Machine machine = read_machine(path);
    return calibrate({read_profile(path), machine}, evidence, "mine");
  }
  static CalibrationEvidence some_gemms() {
    const std::string folder = tests::source_folder() + "/calibration/measurements/";
    return {.fitted = read_measured_files({folder + "calibration-2026-11-21/gemm_again.jsonl.gz"})};
  }
  /// What a profile's errors are but those of GEMMs in short runs.
  static json errors_of_others(json errors) {
    for (json& one : errors)
      if (one["condition"] == "short")
        std::erase_if(one["bands"].get_ref<json::array_t&>(),
                      [](const json& band) { return band["stratum"] == "gemm"; });
    std::erase_if(errors.get_ref<json::array_t&>(), [](const json& one) { return one["bands"].empty(); });
    return errors;
  }
  static GemmChoice answer() {
    return {256, 512, 1024, {.tile_m = 64, .tile_n = 128, .tile_k = 64, .cluster_m = 1, .cluster_n = 1, .stages = 4}};
  }
};

TEST_F(CalibratedFrom, AProfileWithATableHasOneThatBearsItsChecksum) {
  CalibrationEvidence evidence = some_gemms();
  evidence.library_answers = {answer()};
  const CalibratedProfile profile = calibrated("h200x8-nvswitch", evidence);
  const json kernels = json::parse(profile.text).at("gemm").at("kernels");
  EXPECT_EQ(kernels.at("checksum"), table_checksum(profile.table_text));
  EXPECT_EQ(kernels.at("file"), profile.table_file);
  EXPECT_EQ(profile.table_file, "mine." + table_checksum(profile.table_text) + ".gemm_kernels.txt");
  EXPECT_THAT(profile.table_text, HasSubstr("kernel 64x128x64 1x1 4 1\n512 256:1024\n"));
}

// A few hundred GEMMs of the library teach the networks; our own, of which there are few, say no more than the base.
TEST_F(CalibratedFrom, FewOfOurOwnGemmsTheBasesNumbersAndWeightsOfThemStay) {
  const std::string folder = tests::source_folder() + "/calibration/measurements/";
  const CalibrationEvidence evidence{.fitted = read_measured_files({folder + "load-2026-11-22/h200_gemm.jsonl.gz",
                                                                    folder + "gemms-2026-11-23/h200_own.jsonl.gz"})};
  const json now = json::parse(calibrated("h200x8-nvswitch", evidence).text).at("gemm");
  const json before = read_json_file(machine_path("h200x8-nvswitch")).at("gemm");
  EXPECT_EQ(now.at("own_efficiency"), before.at("own_efficiency"));
  EXPECT_NE(now.at("own_energy"), before.at("own_energy"));
  EXPECT_NE(now.at("kernels").at("time_weights"), before.at("kernels").at("time_weights"));
  EXPECT_EQ(now.at("kernels").at("untabled_weights"), before.at("kernels").at("untabled_weights"));
}

TEST_F(CalibratedFrom, AProfileThatListsCandidatesListsThemStill) {
  const CalibratedProfile profile = calibrated("a800x8-nvlink-pairs", some_gemms());
  EXPECT_EQ(profile.table_file, "");
  EXPECT_EQ(profile.table_text, "");
  const json now = json::parse(profile.text), before = read_json_file(machine_path("a800x8-nvlink-pairs"));
  EXPECT_EQ(now.at("gemm").at("kernels"), before.at("gemm").at("kernels"));
  EXPECT_NE(now.at("gemm"), before.at("gemm"));
  EXPECT_EQ(now.at("name"), "mine");
}

TEST_F(CalibratedFrom, AProfileThatListsCandidatesTakesNoAnswersOfTheLibrary) {
  CalibrationEvidence evidence = some_gemms();
  evidence.library_answers = {answer()};
  EXPECT_THAT(error_of([&] { calibrated("mi300x8-mesh", evidence); }), HasSubstr("mi300x8-mesh lists candidates"));
}

TEST_F(CalibratedFrom, NothingButErrorsABaseKeepsAllButTheBandsThatTheyTell) {
  const CalibratedProfile profile = calibrated("h200x8-nvswitch", {.fitted = {}, .errors = some_gemms().fitted});
  const json before = read_json_file(machine_path("h200x8-nvswitch"));
  json now = json::parse(profile.text), other = before;
  EXPECT_NE(now["errors"], errors_of_others(now["errors"]));
  for (json* one : {&now, &other}) (*one)["errors"] = errors_of_others((*one)["errors"]);
  other["name"] = "mine";
  for (const char* key : {"file", "checksum"}) other["gemm"]["kernels"][key] = now["gemm"]["kernels"][key];
  EXPECT_EQ(now, other);
  EXPECT_EQ(profile.table_file, now.at("gemm").at("kernels").at("file"));
  EXPECT_EQ(profile.table_text, to_text(read_machine(machine_path("h200x8-nvswitch")).gemm_choices));
}

TEST_F(CalibratedFrom, RecordedSignalsTheTimesOfSignalsAndWaitsAreThoseThatAreShipped) {
  const std::string folder = tests::source_folder() + "/calibration/measurements/signals-2026-11-28/";
  const CalibratedProfile profile =
      calibrated("h100x8-nvswitch", {.fitted = read_measured_files({folder + "h200_2gpu.jsonl.gz"})});
  const json found = json::parse(profile.text).at("latencies"),
             shipped = read_json_file(machine_path("h200x8-nvswitch")).at("latencies");
  for (const char* key : {"signal", "signal_kernel", "wait_kernel"}) EXPECT_EQ(found.at(key), shipped.at(key)) << key;
}

// Errors are those of fits to other folders, however a folder is written.
TEST_F(CalibratedFrom, FoldersAreTheSameHoweverTheyAreWritten) {
  const std::vector<MeasuredCase> cases = some_gemms().fitted.front().cases;
  const auto half = static_cast<std::ptrdiff_t>(cases.size() / 2);
  const auto bands = [&](const std::string& unseen) {
    const std::vector<MeasuredCase> first(cases.begin(), cases.begin() + half),
        second(cases.begin() + half, cases.end());
    const CalibratedProfile profile = calibrated(
        "h200x8-nvswitch",
        {.fitted = {{"a/gemm.jsonl", first}, {"b/gemm.jsonl", second}}, .errors = {{unseen + "/gemm.jsonl", second}}});
    return json::parse(profile.text)["errors"];
  };
  EXPECT_EQ(bands("b"), bands("./b"));
  EXPECT_EQ(bands("b"), bands(std::filesystem::current_path().string() + "/b"));
}

TEST_F(CalibratedFrom, CasesOfTwoFoldersTellHowManyAreDone) {
  CalibrationEvidence evidence = some_gemms();
  evidence.errors = evidence.fitted;
  evidence.errors.push_back({"another/gemm.jsonl", evidence.fitted.front().cases});
  const std::filesystem::path path = machine_path("h200x8-nvswitch");
  const Machine machine = read_machine(path);
  std::vector<std::size_t> told;
  const std::size_t all = 2 * evidence.fitted.front().cases.size();
  calibrate({read_profile(path), machine}, evidence, "mine", [&](std::size_t done, std::size_t of) {
    told.push_back(done);
    EXPECT_EQ(of, all);
  });
  ASSERT_EQ(told.size(), all);
  EXPECT_TRUE(std::is_sorted(told.begin(), told.end()));
  EXPECT_EQ(told.back(), all);
}

TEST_F(CalibratedFrom, WhatWasMeasuredInTurnErrsAgainstTheClockOfItsMix) {
  const std::filesystem::path path = machine_path("h200x8-nvswitch");
  const Machine machine = read_machine(path);
  std::vector<MeasuredCase> mix(2);
  for (MeasuredCase& one : mix) {
    const scenarios::PairWorkload pair{scenarios::PairOp::gemm_all_reduce, 8192, 8192, 8192};
    one.request = {"a", 4, pair, {scenarios::Serial{}, 0, {}}, {}};
    one.condition = Condition::sustained;
    one.in_turn_with = "a";
  }
  mix.back().request.schedule.family = scenarios::Decomposition{2};
  const std::vector<MeasuredCase> at_its_clock = in_their_mixes(mix, machine);
  for (std::size_t i = 0; i < mix.size(); ++i)
    mix[i].time_us = scenarios::study::predict(at_its_clock[i].request, machine, tests::simulator()).time_us;
  const json profile =
      json::parse(calibrate({read_profile(path), machine}, {.fitted = {}, .errors = {{"f.jsonl", mix}}}, "mine").text);
  int bands = 0;
  for (const json& errors : profile.at("errors"))
    for (const json& band : errors["bands"])
      if (band["stratum"] == "serial" && errors["condition"] == "sustained") {
        ++bands;
        EXPECT_EQ(band["low"], -0.02);  // the narrowest
        EXPECT_EQ(band["high"], 0.02);
      }
  EXPECT_EQ(bands, 1);
}

}  // namespace calibration_test
}  // namespace weft::calibration::evidence
