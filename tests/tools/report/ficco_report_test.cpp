#include "tools/report/ficco_report.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"

namespace weft::tools::report {
namespace {

using namespace scenarios;
using testing::HasSubstr;

const Machine& h200() {
  static const Machine machine = read_machine(machine_path("h200x8-nvswitch"));
  return machine;
}

/// Every schedule of the pair on two GPUs.
scenarios::study::Answer explored(const PairWorkload& pair) {
  Scenario scenario;
  scenario.gpus = 2;
  scenario.space = {.chunks = {2}, .max_ctas = {8}};
  std::size_t simulated = 0;
  return scenarios::study::explore_pair({"pair", pair}, pair.m, scenario, h200(), simulated);
}

TEST(FiccoReport, HasTheLossesOfEachScheduleWithTheDefaultNumberOfCtas) {
  const scenarios::study::Answer answer = explored({PairOp::all_gather_gemm, 4096, 2048, 2048});
  for (const scenarios::study::Explored& one : answer.fastest_first) {
    const ScheduleChoice& choice = one.candidate.request.schedule;
    EXPECT_EQ(one.inefficiency.has_value(), std::holds_alternative<Ficco>(choice.family) && choice.max_ctas == 0);
    if (one.inefficiency) {
      EXPECT_THAT(ficco_text(answer, h200()), HasSubstr(one.candidate.request.id));
    }
  }
}

TEST(FiccoReport, PutsTheRuleBesideTheFastest) {
  const scenarios::study::Answer answer = explored({PairOp::all_gather_gemm, 4096, 2048, 2048});
  const auto json = ficco_json(answer, h200());
  EXPECT_EQ(json["rule"]["compute"], "uniform");
  EXPECT_EQ(json["rule"]["chunks"], "1d");
  EXPECT_LE(json["fastest_time_us"], json["rule_time_us"]);
  EXPECT_THAT(ficco_text(answer, h200()), HasSubstr("FiCCO's rule chooses ficco, uniform fused 1d copy_engine"));
}

// 4098 rows are no multiple of 2 x 2.
TEST(FiccoReport, SaysWhereTheRuleChoosesWhatTheSizesDoNotHave) {
  const scenarios::study::Answer answer = explored({PairOp::all_gather_gemm, 4098, 2048, 2048});
  EXPECT_TRUE(ficco_json(answer, h200())["rule_time_us"].is_null());
  EXPECT_THAT(ficco_text(answer, h200()), HasSubstr("which these sizes do not have"));
}

TEST(FiccoReport, IsEmptyForOtherPairs) {
  const scenarios::study::Answer answer = explored({PairOp::gemm_all_reduce, 2048, 2048, 2048});
  EXPECT_EQ(ficco_text(answer, h200()), "");
  EXPECT_TRUE(ficco_json(answer, h200()).is_null());
}

TEST(Explored, SignalingSaysWhatTheNextKernelPays) {
  const scenarios::study::Answer answer = explored({PairOp::gemm_all_to_all, 4096, 2048, 2048});
  const auto signaling = std::find_if(answer.fastest_first.begin(), answer.fastest_first.end(), [](const auto& one) {
    return std::holds_alternative<Signaling>(one.candidate.request.schedule.family);
  });
  ASSERT_NE(signaling, answer.fastest_first.end());
  ASSERT_TRUE(signaling->reordering);
  EXPECT_EQ(signaling->reordering->unit, "row");
  EXPECT_EQ(signaling->reordering->share, 0.0845);
  EXPECT_GT(signaling->reordering->time_us, 0);
}

}  // namespace
}  // namespace weft::tools::report
