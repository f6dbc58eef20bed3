// weft calibrate on measurements of the project.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "tests/source_folder.hpp"
#include "tests/tools/command_line.hpp"

namespace weft::tests {
namespace calibrate_command_test {

const std::string measurements = tests::source_folder() + "/calibration/measurements/";
const std::string one_server = measurements + "h200x4-2026-11-21/gemm.jsonl.gz",
                  another = measurements + "calibration-2026-11-21/gemm_again.jsonl.gz";

nlohmann::json errors_of(const std::string& files, const TemporaryFolder& folder) {
  const CommandResult result =
      run_weft("calibrate " + files + " --base h200x8-nvswitch --errors " + another + " --out new.json", folder);
  EXPECT_EQ(result.status, 0) << result.errors;
  return nlohmann::json::parse(folder.read("new.json")).at("errors");
}

TEST(CalibrateCommand, ErrorsOfAServerAreThoseOfAProfileThatHasNotSeenIt) {
  const TemporaryFolder folder;
  const nlohmann::json unseen = errors_of(one_server, folder);
  EXPECT_FALSE(unseen.empty());
  EXPECT_EQ(errors_of(one_server + " " + another, folder), unseen);
}

TEST(CalibrateCommand, WhereAllIsOfOneServerItsErrorsAreOfWhatWasFitted) {
  const TemporaryFolder folder;
  const nlohmann::json fitted = errors_of(another, folder);
  EXPECT_NE(fitted, errors_of(one_server, folder));
}

TEST(CalibrateCommand, BandsOfAStratumAscendFromZero) {
  const TemporaryFolder folder;
  std::map<std::pair<std::string, std::string>, double> latest_us;
  for (const nlohmann::json& errors : errors_of(one_server, folder))
    for (const nlohmann::json& band : errors.at("bands")) {
      const auto [latest, is_first] =
          latest_us.try_emplace({errors.at("condition"), band.at("stratum")}, band.at("from_us").get<double>());
      if (is_first)
        EXPECT_EQ(latest->second, 0);
      else
        EXPECT_GT(band.at("from_us"), std::exchange(latest->second, band.at("from_us").get<double>()));
    }
  EXPECT_TRUE(latest_us.contains({"short", "gemm"}));
}

/// A profile and its table, calibrated to one server.
class CalibratedPair : public testing::Test {
 protected:
  CalibratedPair() { EXPECT_EQ(calibrate(one_server, "").status, 0); }

  CommandResult calibrate(const std::string& files, const std::string& before) const {
    return run(before + "'" WEFT_PROGRAM "' calibrate " + files + " --base h200x8-nvswitch --out new.json", folder);
  }
  CommandResult predict() const {
    return run(
        R"(echo '{"id": "a", "gpus": 1, "workload": {"op": "gemm", "m": 4096, "n": 4096, "k": 4096}}' | ')" WEFT_PROGRAM
        "' predict --machine ./new.json",
        folder);
  }
  std::string table() const { return nlohmann::json::parse(folder.read("new.json"))["gemm"]["kernels"]["file"]; }

  TemporaryFolder folder;
};

TEST_F(CalibratedPair, LeavesTheOldOneWhereTheNewOneFindsNoRoom) {
  const std::string profile = folder.read("new.json"), answer = predict().output;
  const auto files = folder.file_names();
  const CommandResult result = calibrate(another, "trap '' XFSZ; ulimit -f 100; ");
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.errors, testing::HasSubstr("File too large"));
  EXPECT_EQ(folder.read("new.json"), profile);
  EXPECT_EQ(folder.file_names(), files);
  EXPECT_EQ(predict().output, answer);
}

TEST_F(CalibratedPair, IsRefusedWhereItsTableIsAnother) {
  folder.write(table(), folder.read(table()) + "# changed\n");
  const CommandResult result = predict();
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.errors, testing::HasSubstr("new.json: gemm.kernels.file: ./" + table() +
                                                ": expected a table with the checksum "));
  EXPECT_EQ(std::count(result.errors.begin(), result.errors.end(), '\n'), 1);
}

TEST(CalibrateCommand, RefusesTheLibrarysAnswersWhereTheBaseListsCandidates) {
  const TemporaryFolder folder;
  folder.write("answers.jsonl", "");
  const CommandResult result = run_weft(
      "calibrate " + another + " --base a800x8-nvlink-pairs --library-answers answers.jsonl --out new.json", folder);
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.errors, testing::HasSubstr("expected none: a800x8-nvlink-pairs lists candidates"));
  EXPECT_THAT(folder.file_names(), testing::ElementsAre("answers.jsonl"));
}

}  // namespace calibrate_command_test
}  // namespace weft::tests
