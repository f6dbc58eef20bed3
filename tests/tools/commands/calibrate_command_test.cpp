// weft calibrate on measurements of the project.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/source_folder.hpp"
#include "tests/tools/command_line.hpp"

namespace weft::tests {
namespace {

const std::string measurements = tests::source_folder() + "/calibration/measurements/";
const std::string one_server = measurements + "h200x4-2026-11-21/gemm.jsonl",
                  another = measurements + "calibration-2026-11-21/gemm_again.jsonl";

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
  const nlohmann::json errors = errors_of(one_server, folder);
  EXPECT_EQ(errors.at(0).at("from_us"), 0);
  for (std::size_t i = 1; i < errors.size(); ++i) EXPECT_GT(errors[i].at("from_us"), errors[i - 1].at("from_us"));
}

}  // namespace
}  // namespace weft::tests
