#include "calibration/evidence/claims.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "calibration/evidence/reproduction.hpp"
#include "models/base/input_error.hpp"
#include "models/base/json_file.hpp"
#include "models/machine/machine_files.hpp"
#include "tests/temporary_folder.hpp"

namespace weft::calibration::evidence {
namespace claims_test {

using nlohmann::json;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using tests::TemporaryFolder;

const auto published = scenario_folder() / "published";

TEST(ClaimFiles, AreThereForAllFivePapersAndWhatStrangersPosted) {
  EXPECT_THAT(papers_in(published),
              ElementsAre("async_tp", "ficco", "flashoverlap", "magiattention", "strangers", "tokenweave"));
}

class ClaimFileOf : public testing::TestWithParam<std::string> {};

TEST_P(ClaimFileOf, HoldsClaimsWithSourcesOnMachinesThatExist) {
  const ClaimFile file = read_claims(published / (GetParam() + ".json"));
  EXPECT_EQ(file.paper, GetParam());
  EXPECT_GE(file.claims.size(), 6u);
  const std::vector<std::string> machines = machine_names();
  std::set<std::string> ids;
  for (const Claim& claim : file.claims) {
    EXPECT_TRUE(ids.insert(claim.id).second) << claim.id;
    EXPECT_FALSE(claim.source.empty()) << claim.id;
    EXPECT_THAT(machines, testing::Contains(claim.machine));
  }
}

TEST_P(ClaimFileOf, AsksEveryCase) {
  const json file = read_json_file(published / (GetParam() + ".json"));
  if (!file.contains("cases")) return;
  std::set<json> asked;
  for (const json& claim : file["claims"])
    for (const json& observation : claim["observations"])
      for (const char* key : {"cases", "less", "over", "without"})
        for (const json& id : observation.value(key, json::array())) asked.insert(id);
  for (const json& one : file["cases"]) EXPECT_TRUE(asked.contains(one["id"])) << one["id"];
}

INSTANTIATE_TEST_SUITE_P(Papers, ClaimFileOf,
                         testing::Values("async_tp", "ficco", "flashoverlap", "magiattention", "strangers",
                                         "tokenweave"),
                         [](const auto& instance) { return instance.param; });

TEST(Holds, WithinTheRangeWidenedByTheTolerance) {
  const Range range{1.0, 2.0}, at_least{1.0, std::nullopt}, at_most{std::nullopt, 2.0};
  EXPECT_TRUE(holds(0.91, range, 0.1));
  EXPECT_FALSE(holds(0.89, range, 0.1));
  EXPECT_TRUE(holds(2.19, range, 0.1));
  EXPECT_FALSE(holds(2.21, range, 0.1));
  EXPECT_TRUE(holds(1e9, at_least, 0));
  EXPECT_TRUE(holds(-1e9, at_most, 0));
  EXPECT_FALSE(holds(2.001, at_most, 0));
}

Claim claim_of(Summary summary, std::vector<std::optional<Range>> own, std::optional<Range> of_all) {
  Claim claim;
  claim.summary = summary;
  claim.published = of_all;
  claim.tolerance = 0.1;
  for (const auto& range : own) {
    claim.observations.emplace_back();
    claim.observations.back().published = range;
  }
  return claim;
}

std::vector<Answer> answers(const std::vector<double>& values) {
  std::vector<Answer> all;
  for (const double value : values) all.push_back({value, {}, {}});
  return all;
}

TEST(Verdict, EachObservationHoldsAgainstItsOwnValue) {
  const Claim claim = claim_of(Summary::each, {Range{1, 1}, Range{2, 2}, Range{3, 3}}, {});
  const Verdict verdict = verdict_on(claim, answers({1.05, 1.95, 2.0}));
  EXPECT_FALSE(verdict.holds);
  EXPECT_EQ(verdict.holding(), 2u);
  EXPECT_EQ(verdict.low, 1.05);
  EXPECT_EQ(verdict.high, 2.0);
  EXPECT_TRUE(verdict_on(claim, answers({1.05, 1.95, 2.8})).holds);
}

TEST(Verdict, ASummaryIsComparedAlone) {
  const auto verdict = [](Summary summary, double value) {
    return verdict_on(claim_of(summary, {{}, {}, {}}, Range{value, value}), answers({1, 2, 6}));
  };
  EXPECT_EQ(verdict(Summary::largest, 6).low, 6);
  EXPECT_EQ(verdict(Summary::smallest, 1).low, 1);
  EXPECT_THAT(verdict(Summary::mean, 3).low, DoubleNear(3, 1e-12));
  EXPECT_TRUE(verdict(Summary::largest, 6).holds);
  EXPECT_FALSE(verdict(Summary::largest, 3).holds);
}

TEST(Verdict, SaysHowFarOffOnAverage) {
  EXPECT_DOUBLE_EQ(distance_from(3, {1, 2}), 0.5);
  EXPECT_DOUBLE_EQ(distance_from(0.5, {1, 2}), -0.5);
  EXPECT_EQ(distance_from(1.5, {1, 2}), 0);
  EXPECT_EQ(distance_from(0.5, {std::nullopt, 0}), 0.5);
  const Claim claim = claim_of(Summary::each, {Range{1, 1}, Range{2, 2}}, {});
  EXPECT_DOUBLE_EQ(verdict_on(claim, answers({1.1, 1.5})).mean_error, (0.1 + 0.25) / 2);
}

TEST(Verdict, OfAMeanErrorLetsSingleOnesBeFarther) {
  const Claim claim = claim_of(Summary::mean_error, {Range{1, 1}, Range{2, 2}}, {});
  EXPECT_TRUE(verdict_on(claim, answers({1.15, 2})).holds);
  EXPECT_FALSE(verdict_on(claim, answers({1.15, 2.2})).holds);
}

TEST(Verdict, OfARatioCountsPublishedTimesToo) {
  Claim claim = claim_of(Summary::each, {Range{1, 1}}, {});
  claim.observations[0].published_us = 100;
  EXPECT_TRUE(verdict_on(claim, {{1, 105, {}}}).holds);
  const Verdict verdict = verdict_on(claim, {{1, 150, {}}});
  EXPECT_FALSE(verdict.holds);
  EXPECT_DOUBLE_EQ(verdict.mean_error, 0.5);
}

TEST(Verdict, OfARuleFailsWhereABlindAnswerHoldsAsWell) {
  Claim claim = claim_of(Summary::each, {{}, {}}, Range{1, 1});
  claim.quantity = Quantity::rule_share;
  const Verdict told_apart = verdict_on(claim, {{1, {}, {1, 0.5}}, {1, {}, {0.5, 1}}});
  EXPECT_TRUE(told_apart.holds);
  const Verdict constant = verdict_on(claim, {{1, {}, {1, 0.5}}, {1, {}, {1, 0.5}}});
  EXPECT_FALSE(constant.holds);
  EXPECT_TRUE(constant.blind->constant_holds);
  EXPECT_FALSE(constant.blind->random_holds);
  const Verdict random = verdict_on(claim, {{1, {}, {0.98, 0.85, 1}}, {1, {}, {0.85, 0.98, 1}}});
  EXPECT_TRUE(random.blind->random_holds);
}

// --- Bad input -------------------------------------------------------------------------------------------------

const json good = json::parse(R"({
  "format": "weft.claims/1", "paper": "p", "title": "t", "reference": "r",
  "cases": [{"id": "a", "gpus": 1, "workload": {"op": "gemm", "m": 1024, "n": 1024, "k": 1024}}],
  "claims": [{"id": "c", "claim": "c", "source": "s", "machine": "h100x8-nvswitch", "quantity": "time_us",
              "published": [1, 2], "tolerance": 0.1, "observations": [{"cases": ["a"]}]}]})");

std::string error_with(const std::string& pointer, const json& value) {
  const TemporaryFolder folder;
  json file = good;
  file[json::json_pointer(pointer)] = value;
  folder.write("claims.json", file.dump());
  try {
    read_claims(folder.path() / "claims.json");
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(ReadClaims, NamesWhatIsWrong) {
  EXPECT_EQ(error_with("/claims/0/tolerance", 0.2), "no error");
  EXPECT_THAT(error_with("/colour", 1), HasSubstr("claims.json: colour"));
  EXPECT_THAT(error_with("/format", "weft.claims/2"), HasSubstr("format: expected weft.claims/1"));
  EXPECT_THAT(error_with("/cases/0/workload/m", 0), HasSubstr("cases[0]: workload.m"));
  EXPECT_THAT(error_with("/cases/1", good["cases"][0]), HasSubstr("cases[1]: expected an id of its own"));
  EXPECT_THAT(error_with("/claims/0/quantity", "beauty"), HasSubstr("claims[0].quantity"));
  EXPECT_THAT(error_with("/claims/0/tolerance", -1), HasSubstr("claims[0].tolerance"));
  EXPECT_THAT(error_with("/claims/0/published", json::array({2, 1})), HasSubstr("expected the lower end first"));
  EXPECT_THAT(error_with("/claims/0/published", json::array({nullptr, nullptr})), HasSubstr("claims[0].published"));
  EXPECT_THAT(error_with("/claims/0/observations", json::array()), HasSubstr("at least one observation"));
  EXPECT_THAT(error_with("/claims/0/observations/0/cases/0", "b"), HasSubstr("observations[0].cases[0]"));
  EXPECT_THAT(error_with("/claims/0/observations/0/over", json::array({"a"})), HasSubstr("time_ratio"));
  EXPECT_THAT(error_with("/claims/0/quantity", "time_ratio"), HasSubstr("\"over\""));
  EXPECT_THAT(error_with("/claims/0/quantity", "hidden_share"), HasSubstr("a schedule for hidden_share"));
  EXPECT_THAT(error_with("/claims/0/summary", "mean_error"), HasSubstr("a published value of its own"));
  EXPECT_THAT(error_with("/claims/0/observations/0/published_us", 1), HasSubstr("\"published_us\" only"));
  EXPECT_THAT(error_with("/claims/0/timing", json{{"added_us", 1}}), HasSubstr("claims[0].timing.source"));
  EXPECT_THAT(error_with("/claims/0/timing", json{{"l2", "warm"}, {"source", "a page"}}), HasSubstr("timing.l2"));
}

}  // namespace claims_test
}  // namespace weft::calibration::evidence
