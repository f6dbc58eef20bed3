#include "scenarios/study/explanation.hpp"

#include <gtest/gtest.h>
#include <tbb/global_control.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "scenarios/study/exploration_json.hpp"
#include "tests/simulator.hpp"

namespace weft::scenarios::study {
namespace explanation_test {

using tests::simulator;

const Machine& h200() {
  static const Machine machine = read_machine(machine_path("h200x8-nvswitch"));
  return machine;
}

Scenario two_sizes() {
  Scenario scenario;
  scenario.gpus = 2;
  scenario.sizes = {2048, 4096};
  for (const std::int64_t rows : scenario.sizes)
    scenario.plain.push_back(PairWorkload{PairOp::all_gather_gemm, rows, 2048, 2048});
  scenario.space = {.chunks = {2}, .max_ctas = {8}};
  return scenario;
}

/// Everything that an exploration and its explanations say, as text.
std::string explained_on(std::size_t threads) {
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
  const Scenario scenario = two_sizes();
  Exploration exploration = explore(scenario, h200(), simulator(), {.least_schedules = 30});
  std::vector<Answer*> answers;
  for (Answer& answer : exploration.answers) answers.push_back(&answer);
  explain(answers, h200(), sim::simulate);
  return to_json(exploration, scenario, h200()).dump();
}

TEST(Explanation, IsTheSameBytesWhateverTheNumberOfThreads) { EXPECT_EQ(explained_on(1), explained_on(2)); }

TEST(Explanation, CoversTheWinnerSerialAndWhoeverIsAskedFor) {
  const Scenario scenario = only_size(two_sizes(), 4096);
  Exploration exploration = explore(scenario, h200(), simulator());
  Answer& answer = exploration.answers.front();
  const std::string asked = answer.fastest_first.back().candidate.request.id;
  const std::set<std::string> covered{asked, answer.fastest().candidate.request.id,
                                      answer.advice().candidate.request.id, "serial"};
  explain({&answer}, h200(), sim::simulate, {.id = asked});
  for (const Explored& one : answer.fastest_first) {
    const std::string& id = one.candidate.request.id;
    EXPECT_EQ(one.losses.has_value(), covered.contains(id)) << id;
    if (one.losses) {
      EXPECT_NEAR(one.losses->time_ps * 1e-6, one.candidate.estimate.time_us, 1e-6) << id;
    }
  }
  explain({&answer}, h200(), sim::simulate, {.all = true});
  for (const Explored& one : answer.fastest_first) EXPECT_TRUE(one.losses) << one.candidate.request.id;
}

TEST(Explanation, GivesFiccosLossesWithTheDefaultNumberOfCtas) {
  Exploration exploration = explore(only_size(two_sizes(), 4096), h200(), simulator());
  Answer& answer = exploration.answers.front();
  explain({&answer}, h200(), sim::simulate);
  std::size_t found = 0;
  for (const Explored& one : answer.fastest_first) {
    const ScheduleChoice& choice = one.candidate.request.schedule;
    EXPECT_EQ(one.inefficiency.has_value(), std::holds_alternative<Ficco>(choice.family) && choice.max_ctas == 0);
    found += one.inefficiency ? 1 : 0;
  }
  EXPECT_GT(found, 0u);
}

TEST(Explanation, TellsHowFarItIs) {
  Exploration exploration = explore(only_size(two_sizes(), 4096), h200(), simulator());
  std::size_t last = 0, all = 0;
  explain({&exploration.answers.front()}, h200(), sim::simulate, {}, [&](std::size_t done, std::size_t of) {
    EXPECT_EQ(done, last + 1);
    last = done, all = of;
  });
  EXPECT_GT(all, 2u);
  EXPECT_EQ(last, all);
}

}  // namespace explanation_test
}  // namespace weft::scenarios::study
