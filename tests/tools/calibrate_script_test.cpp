// tools/calibrate with a command weft that only notes how it was called.
#include <gmock/gmock.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "tests/source_folder.hpp"
#include "tests/temporary_folder.hpp"

namespace weft::tests {
namespace calibrate_script_test {

using testing::ElementsAre;
using testing::HasSubstr;

class CalibrateScript : public testing::Test {
 protected:
  CalibrateScript() { be_weft(""); }

  /// Files that hold a line of each kind that is measured under load as well.
  static constexpr const char* plan =
      "if [[ $1 == plan ]]; then for name in gemm collectives_4gpu copies_4gpu pairs_4gpu; do\n"
      "echo '\"op\":\"gemm\" \"op\":\"copy\",\"bytes\":12345678 "
      "\"bytes\":12345678},\"schedule\":{\"family\":\"serial\"}} \"op\":\"a+b\" \"family\":\"serial\"' "
      ">\"${!#}/$name.jsonl\"; done; exit; fi\n";

  /// What the command does after it has noted its call.
  void be_weft(const std::string& then, const std::string& kernels = "file a.txt") const {
    folder.write("fake_weft", "#!/usr/bin/env bash\nif [[ $1 == machines ]]; then echo 'gemm.kernels  " + kernels +
                                  "'; exit; fi\necho \"$1 $(basename -- \"${2-}\")\" >>calls\n" + plan + then + "\n");
    std::filesystem::permissions(folder.path() / "fake_weft", std::filesystem::perms::owner_all);
  }

  int run(const std::string& arguments) const {
    const std::string command = "cd '" + folder.path().string() + "' && WEFT=./fake_weft '" + tests::source_folder() +
                                "/tools/calibrate' " + arguments + " >output 2>errors </dev/null";
    const int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  std::vector<std::string> calls() const {
    std::istringstream text(folder.read("calls"));
    std::vector<std::string> lines;
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    return lines;
  }

  const TemporaryFolder folder;
};

TEST_F(CalibrateScript, PlansMeasuresEachFileAsksAndFits) {
  EXPECT_EQ(run("--base near --out mine.json --gpus 1,4"), 0) << folder.read("errors");
  EXPECT_THAT(
      calls(),
      ElementsAre("plan --seed", "measure gemm.jsonl", "measure collectives_4gpu.jsonl", "measure windows_4gpu.jsonl",
                  "measure pairs_4gpu.jsonl", "measure copies_4gpu.jsonl", "measure gemm_load.jsonl",
                  "measure collectives_load_4gpu.jsonl", "measure copies_load_4gpu.jsonl",
                  "measure pairs_load_4gpu.jsonl", "ask library_questions.txt", "calibrate gemm.jsonl"));
  EXPECT_THAT(folder.read("output"),
              HasSubstr("calibrate mine.measurements/gemm.jsonl mine.measurements/collectives_4gpu.jsonl "
                        "mine.measurements/windows_4gpu.jsonl mine.measurements/pairs_4gpu.jsonl "
                        "mine.measurements/gemm_load.jsonl "
                        "mine.measurements/collectives_load_4gpu.jsonl "
                        "mine.measurements/copies_load_4gpu.jsonl "
                        "mine.measurements/pairs_load_4gpu.jsonl --base near"));
}

TEST_F(CalibrateScript, MeasuresOurOwnKernelsWhereTheBaseWasMeasuredWithThem) {
  be_weft("", "file a.txt\ngemm.own_persistent_start  2.3");
  EXPECT_EQ(run("--base near --out mine.json --gpus 1"), 0) << folder.read("errors");
  EXPECT_THAT(calls(),
              ElementsAre("plan --seed", "measure gemm.jsonl", "measure gemm_load.jsonl", "measure own_gemm.jsonl",
                          "measure layer_kernels.jsonl", "ask library_questions.txt", "calibrate gemm.jsonl"));
  EXPECT_THAT(folder.read("output"),
              HasSubstr("mine.measurements/own_gemm.jsonl mine.measurements/layer_kernels.jsonl --base near"));
}

TEST_F(CalibrateScript, MeasuresOurCollectivesOfSeveralGpus) {
  be_weft("", "file a.txt\ngemm.own_persistent_start  2.3");
  EXPECT_EQ(run("--base near --out mine.json --gpus 1,4"), 0) << folder.read("errors");
  EXPECT_THAT(calls(), testing::Contains("measure peers_4gpu.jsonl"));
  EXPECT_THAT(calls(), testing::Contains("measure norms_4gpu.jsonl"));
  EXPECT_THAT(calls(), testing::Contains("measure signals_4gpu.jsonl"));
  EXPECT_THAT(folder.read("output"), HasSubstr("mine.measurements/peers_4gpu.jsonl mine.measurements/norms_4gpu.jsonl "
                                               "mine.measurements/signals_4gpu.jsonl"));
}

TEST_F(CalibrateScript, MeasuresNoKernelsOfOursWhereTheBaseHasNoNumbersOfThem) {
  be_weft("", "file a.txt\ngemm.own_persistent_start  0");
  EXPECT_EQ(run("--base near --out mine.json --gpus 1"), 0) << folder.read("errors");
  EXPECT_THAT(calls(), testing::Not(testing::Contains("measure own_gemm.jsonl")));
}

TEST_F(CalibrateScript, DoesNotAskTheLibraryAgain) {
  std::filesystem::create_directory(folder.path() / "mine.measurements");
  folder.write("mine.measurements/library_answers.jsonl", "{}\n");
  EXPECT_EQ(run("--base near --out mine.json --gpus 1"), 0) << folder.read("errors");
  EXPECT_THAT(calls(),
              ElementsAre("plan --seed", "measure gemm.jsonl", "measure gemm_load.jsonl", "calibrate gemm.jsonl"));
}

TEST_F(CalibrateScript, DoesNotAskTheLibraryForABaseThatListsCandidates) {
  be_weft("", "candidates (12 values), scheduler grid");
  EXPECT_EQ(run("--base near --out mine.json --gpus 1"), 0) << folder.read("errors");
  EXPECT_THAT(calls(),
              ElementsAre("plan --seed", "measure gemm.jsonl", "measure gemm_load.jsonl", "calibrate gemm.jsonl"));
  EXPECT_THAT(folder.read("output"), testing::Not(HasSubstr("--library-answers")));
}

TEST_F(CalibrateScript, EndsBeforeAnythingIsMeasuredWhereTheBaseIsNoProfile) {
  be_weft("");
  folder.write("fake_weft", "#!/usr/bin/env bash\n[[ $1 != machines ]] || exit 2\necho $1 >>calls\n");
  EXPECT_EQ(run("--base near --out mine.json --gpus 1"), 2);
  EXPECT_THAT(calls(), ElementsAre());
}

TEST_F(CalibrateScript, GivesFailedCasesASecondChanceAndGoesOnWithoutThem) {
  be_weft("[[ $1 != measure ]]");
  EXPECT_EQ(run("--base near --out mine.json --gpus 1"), 0);
  EXPECT_THAT(calls(), ElementsAre("plan --seed", "measure gemm.jsonl", "measure gemm.jsonl", "measure gemm_load.jsonl",
                                   "measure gemm_load.jsonl", "ask library_questions.txt", "calibrate gemm.jsonl"));
  EXPECT_THAT(folder.read("errors"), HasSubstr("gemm.jsonl: some cases could not be measured"));
}

TEST_F(CalibrateScript, EndsWhereTheMachineCannotMeasure) {
  be_weft("[[ $1 != measure ]] || exit 2");
  EXPECT_EQ(run("--base near --out mine.json --gpus 1"), 2);
  EXPECT_THAT(calls(), ElementsAre("plan --seed", "measure gemm.jsonl"));
}

TEST_F(CalibrateScript, OnlyPrintsInADryRun) {
  EXPECT_EQ(run("--base near --out mine.json --dry-run"), 0) << folder.read("errors");
  EXPECT_THAT(calls(), ElementsAre());
  EXPECT_THAT(folder.read("output"), HasSubstr("measure mine.measurements/plan/pairs_2gpu.jsonl --machine near"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "mine.measurements"));
}

TEST_F(CalibrateScript, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(run("--out mine.json"), 2);
  EXPECT_EQ(run("--base near --out mine.csv"), 2);
  EXPECT_EQ(run("--base near --out mine.json --gpus 3"), 2);
  EXPECT_EQ(run("--colour red"), 2);
  EXPECT_THAT(calls(), ElementsAre());
}

}  // namespace calibrate_script_test
}  // namespace weft::tests
