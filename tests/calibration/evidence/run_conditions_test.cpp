#include "calibration/evidence/run_conditions.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "calibration/evidence/calibration_profile.hpp"
#include "models/base/input_error.hpp"
#include "models/base/json_file.hpp"
#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"

namespace weft::calibration::evidence {
namespace run_conditions_test {

using nlohmann::json;
using nlohmann::ordered_json;

MeasuredCase measured(const std::string& date, const std::string& nccl) {
  MeasuredCase one;
  Conditions& conditions = one.conditions;
  conditions.date = date;
  conditions.gpu = "NVIDIA H200";
  conditions.driver = "580.159.04";
  conditions.cuda = "13.0";
  conditions.nccl = nccl;
  conditions.cublaslt = "130100";
  conditions.max_sm_clock_MHz = 1980;
  conditions.power_limit_W = 700;
  return one;
}

RunConditions two_runs() {
  RunConditions conditions;
  for (const double spread_us : {1, 2, 3}) {
    MeasuredCase one = measured("2026-11-21T09:00:00Z", "2.28.9");
    one.repeats_us = {100 - spread_us, 100, 100};
    one.sm_clock_MHz = 1500;
    conditions.add(one);
  }
  conditions.add(measured("2026-11-21T06:00:00Z", "2.27.3"));
  return conditions;
}

TEST(RunConditions, NameEveryVersionOnceAndTheSpanOfTheRuns) {
  const json conditions = to_json(two_runs());
  EXPECT_EQ(conditions["first_run"], "2026-11-21T06:00:00Z");
  EXPECT_EQ(conditions["last_run"], "2026-11-21T09:00:00Z");
  EXPECT_EQ(conditions["nccl"], (json{"2.27.3", "2.28.9"}));
  EXPECT_EQ(conditions["driver"], json::array({"580.159.04"}));
  EXPECT_EQ(conditions["power_limit"]["value"], json::array({700.0}));
}

TEST(RunConditions, SayNoiseAndClocksOfTheCasesThatHaveThem) {
  const json conditions = to_json(two_runs());
  EXPECT_EQ(conditions["repeat_noise"]["value"][1], 0.02);
  EXPECT_EQ(conditions["sm_clock"]["value"], (json{1500.0, 1500.0, 1500.0}));
  EXPECT_EQ(conditions["repeat_noise"]["source"],
            "5 %, 50 % and 95 % of 3 cases: (largest - smallest) / median of the repeats");
  RunConditions silent;
  silent.add(measured("2026-11-21T06:00:00Z", "2.28.9"));
  EXPECT_FALSE(to_json(silent).contains("repeat_noise"));
}

class ProfileWithConditions : public testing::Test {
 protected:
  const std::filesystem::path path = machine_path("h200x8-nvswitch");
  ordered_json profile = read_profile(path);

  std::string error() const {
    try {
      machine_from_json(profile, path.parent_path());
    } catch (const InputError& refused) {
      return refused.what();
    }
    return "";
  }
};

TEST_F(ProfileWithConditions, IsReadAndKeepsThemBeforeTheGpu) {
  set_conditions(profile, to_json(two_runs()));
  set_conditions(profile, to_json(two_runs()));  // replaced, not repeated
  EXPECT_EQ(error(), "");
  std::vector<std::string> keys;
  for (const auto& [key, value] : profile.items()) keys.push_back(key);
  EXPECT_EQ(std::count(keys.begin(), keys.end(), "conditions"), 1);
  EXPECT_EQ(*(std::find(keys.begin(), keys.end(), "conditions") + 1), "gpu");
}

TEST_F(ProfileWithConditions, IsRefusedWhereTheyAreNotWhatTheyShouldBe) {
  ordered_json conditions = to_json(two_runs());
  conditions["power_limit"]["unit"] = "kW";
  set_conditions(profile, conditions);
  EXPECT_EQ(error().find("conditions.power_limit.unit: expected"), 0u) << error();
  conditions = to_json(two_runs());
  conditions["colour"] = 1;
  set_conditions(profile, conditions);
  EXPECT_EQ(error().find("conditions.colour: expected one of the keys"), 0u) << error();
}

TEST(ShippedProfile, OfTheMeasuredMachineSaysUnderWhichConditions) {
  EXPECT_TRUE(read_profile(machine_path("h200x8-nvswitch")).contains("conditions"));
}

}  // namespace run_conditions_test
}  // namespace weft::calibration::evidence
