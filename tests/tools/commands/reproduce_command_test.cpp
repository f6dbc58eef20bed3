#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "calibration/evidence/claims.hpp"
#include "models/machine/machine_files.hpp"
#include "tests/source_folder.hpp"
#include "tests/tools/command_line.hpp"

namespace weft::tools::commands {
namespace reproduce_command_test {

namespace evidence = calibration::evidence;
using nlohmann::json;
using nlohmann::ordered_json;
using testing::HasSubstr;
using tests::run_weft;
using tests::TemporaryFolder;

std::filesystem::path claims_of(const std::string& paper) {
  return scenario_folder() / "published" / (paper + ".json");
}

/// {"ID": {"holds": …, "simulated": [low, high]}, …} of a command's answer.
ordered_json verdicts_of(const json& answer) {
  ordered_json verdicts;
  for (const json& claim : answer["claims"])
    for (const auto& [key, value] : claim.items())
      if (key.starts_with("simulated_"))
        verdicts[claim["id"].get<std::string>()] = {{"holds", claim["holds"]}, {"simulated", value}};
  return verdicts;
}

/// Which claims hold, and the simulated values to the bit. WEFT_REWRITE_GOLDEN=1 writes the file anew.
void compare_with_golden(const std::string& paper, const json& answer) {
  const std::string path = tests::source_folder() + "/tests/tools/golden/verdicts/" + paper + ".json";
  const ordered_json found = verdicts_of(answer);
  if (std::getenv("WEFT_REWRITE_GOLDEN") != nullptr) std::ofstream(path) << found.dump(1) << '\n';
  std::ifstream file(path);
  ASSERT_TRUE(file) << path;
  EXPECT_EQ(found, ordered_json::parse(file)) << paper;
}

class ReproduceCommandOf : public testing::TestWithParam<std::string> {};

TEST_P(ReproduceCommandOf, GivesEachClaimItsVerdict) {
  const TemporaryFolder folder;
  const auto result = run_weft("reproduce " + GetParam() + " --json out.json", folder);
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("claims hold"));
  const json answer = json::parse(folder.read("out.json"));
  EXPECT_EQ(answer["paper"], GetParam());
  EXPECT_EQ(answer["claims"].size(), evidence::read_claims(claims_of(GetParam())).claims.size());
  for (const json& claim : answer["claims"]) {
    const std::string quantity = claim["quantity"];
    const std::string unit = quantity == "time_us" ? "us" : quantity == "stages" ? "stages" : "ratio";
    const json simulated = claim["simulated_" + unit];
    ASSERT_EQ(simulated.size(), 2u) << claim["id"];
    EXPECT_GE(simulated[0].get<double>(), 0) << claim["id"];
    EXPECT_LE(simulated[0], simulated[1]) << claim["id"];
    EXPECT_EQ(claim["published_" + unit].size(), 2u) << claim["id"];
    EXPECT_TRUE(claim["holds"].is_boolean());
    EXPECT_TRUE(claim["tolerance_ratio"].is_number());
    for (const json& observation : claim["observations"])
      EXPECT_TRUE(observation["simulated_" + unit].is_number()) << claim["id"];
  }
  compare_with_golden(GetParam(), answer);
}

INSTANTIATE_TEST_SUITE_P(Papers, ReproduceCommandOf,
                         testing::Values("async_tp", "ficco", "flashoverlap", "magiattention", "strangers",
                                         "tokenweave"),
                         [](const auto& instance) { return instance.param; });

TEST(ReproduceCommand, RefusesAnUnknownPaper) {
  const TemporaryFolder folder;
  const auto result = run_weft("reproduce attention_is_all_you_need --json out.json", folder);
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.errors, HasSubstr("weft: PAPER: expected one of async_tp, ficco, flashoverlap, magiattention"));
  EXPECT_EQ(std::count(result.errors.begin(), result.errors.end(), '\n'), 1);
  EXPECT_TRUE(folder.file_names().empty());
}

TEST(ReproduceCommand, TakesAFileOfAnybodysClaims) {
  const TemporaryFolder folder;
  folder.write("mine.json", R"({"format": "weft.claims/1", "paper": "mine", "title": "t", "reference": "r",
    "cases": [{"id": "a", "gpus": 1, "workload": {"op": "gemm", "m": 1024, "n": 1024, "k": 1024}}],
    "claims": [{"id": "c", "claim": "c", "source": "s", "machine": "h100x8-nvswitch", "quantity": "time_us",
                "published": [null, 1000], "tolerance": 0.1, "observations": [{"cases": ["a"]}]}]})");
  const auto result = run_weft("reproduce mine.json", folder);
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("1 of 1 claims hold"));
  folder.write("mine.json", R"({"format": "weft.claims/1", "colour": 1})");
  const auto refused = run_weft("reproduce mine.json", folder);
  EXPECT_EQ(refused.status, 2);
  EXPECT_EQ(std::count(refused.errors.begin(), refused.errors.end(), '\n'), 1);
}

// 64 of 132 SMs are held all the time, so the GEMM's waves take 132 / 68 = 1.94 times as long. A GEMM that fills its
// waves less, or one that waits for the memory, would lose less.
TEST(ReproduceCommand, AsksHowMuchAnotherOperationSlowsOneDown) {
  const TemporaryFolder folder;
  folder.write("mine.json", R"({"format": "weft.claims/1", "paper": "mine", "title": "t", "reference": "r", "claims": [
    {"id": "c", "claim": "c", "source": "s", "machine": "h200x8-nvswitch", "quantity": "slowdown", "published": 2.24,
     "tolerance": 0.1, "observations": [{"schedule": ")" +
                                tests::source_folder() + R"(/docs/example/gemm_beside_64_held_sms.json",
                                         "operation": "gemm", "beside": "hold"}]}]})");
  const auto result = run_weft("reproduce mine.json", folder);
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("1 of 1 claims hold"));
}

}  // namespace reproduce_command_test
}  // namespace weft::tools::commands
