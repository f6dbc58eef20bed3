#include "scenarios/study/ficco_choice.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "tests/simulator.hpp"

namespace weft::scenarios::study {
namespace ficco_choice_test {

using tests::simulator;

const Machine& h200() {
  static const Machine machine = read_machine(machine_path("h200x8-nvswitch"));
  return machine;
}

/// Every schedule of the pair on two GPUs.
Answer explored(const PairWorkload& pair) {
  Scenario scenario;
  scenario.gpus = 2;
  scenario.space = {.chunks = {2}, .max_ctas = {8}};
  std::size_t simulated = 0;
  return explore_pair({"pair", pair}, pair.m, scenario, h200(), simulator(), simulated);
}

TEST(FiccoChoice, PutsTheRuleBesideTheFastest) {
  const Answer answer = explored({PairOp::all_gather_gemm, 4096, 2048, 2048});
  const FiccoChoice choice = ficco_choice(answer, h200());
  ASSERT_NE(choice.by_rule, nullptr);
  EXPECT_EQ(choice.by_rule->candidate.request.id, "ficco, uniform fused 1d copy_engine");
  EXPECT_LE(choice.fastest->candidate.estimate.time_us, choice.by_rule->candidate.estimate.time_us);
}

// 4098 rows are no multiple of 2 x 2.
TEST(FiccoChoice, SaysWhereTheRuleChoosesWhatTheSizesDoNotHave) {
  const Answer answer = explored({PairOp::all_gather_gemm, 4098, 2048, 2048});
  const FiccoChoice choice = ficco_choice(answer, h200());
  EXPECT_NE(choice.fastest, nullptr);
  EXPECT_EQ(choice.by_rule, nullptr);
}

TEST(FiccoChoice, IsEmptyForOtherPairs) {
  const Answer answer = explored({PairOp::gemm_all_reduce, 2048, 2048, 2048});
  EXPECT_EQ(ficco_choice(answer, h200()).fastest, nullptr);
}

TEST(Explored, SignalingSaysWhatTheNextKernelPays) {
  const Answer answer = explored({PairOp::gemm_all_to_all, 4096, 2048, 2048});
  const auto signaling = std::find_if(answer.fastest_first.begin(), answer.fastest_first.end(), [](const auto& one) {
    return std::holds_alternative<Signaling>(one.candidate.request.schedule.family);
  });
  ASSERT_NE(signaling, answer.fastest_first.end());
  ASSERT_TRUE(signaling->reordering);
  EXPECT_EQ(signaling->reordering->unit, "row");
  EXPECT_EQ(signaling->reordering->share, h200().reordering->norm_rows);
  EXPECT_GT(signaling->reordering->time_us, 0);
}

}  // namespace ficco_choice_test
}  // namespace weft::scenarios::study
