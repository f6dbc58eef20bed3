#include "scenarios/study/exploration.hpp"

#include <gtest/gtest.h>

#include <set>

#include "models/base/input_error.hpp"
#include "models/check/race_check.hpp"
#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "scenarios/families/build.hpp"
#include "tests/simulator.hpp"

namespace weft::scenarios::study {
namespace exploration_test {

using tests::simulator;

using scenarios::PairOp;
using scenarios::PairWorkload;

const Machine& h200() {
  static const Machine machine = read_machine(machine_path("h200x8-nvswitch"));
  return machine;
}

Answer explored(PairOp op, std::size_t least_schedules, const scenarios::SearchSpace& space = {}) {
  scenarios::Scenario scenario;
  scenario.gpus = 8;
  scenario.space = space;
  const PairWorkload pair{op, 4096, 4096, 2048};
  std::size_t simulated = 0;
  Answer answer = explore_pair({"pair", pair}, pair.m, scenario, h200(), simulator(), simulated,
                               {.least_schedules = least_schedules});
  EXPECT_EQ(simulated, answer.fastest_first.size());
  return answer;
}

/// With its searched values.
Schedule as_run(const Explored& one) {
  scenarios::Case request = one.candidate.request;
  request.schedule = one.as_run;
  return families::build(request, h200());
}

bool is_hybrid(const Explored& one) {
  return std::holds_alternative<scenarios::Hybrid>(one.candidate.request.schedule.family);
}

TEST(Exploration, HasAsManySchedulesAsAskedForAndNoneTwice) {
  for (const auto& [op, name] : NamesOf<PairOp>::names) {
    const Answer answer = explored(op, usual_schedules);
    EXPECT_GE(answer.fastest_first.size(), 60u) << name;
    std::set<std::string> ids;
    for (const Explored& one : answer.fastest_first) ids.insert(one.candidate.request.id);
    EXPECT_EQ(ids.size(), answer.fastest_first.size()) << name;
  }
}

TEST(Exploration, LikelyHybridsHaveNoRaces) {
  for (const auto& [op, name] : NamesOf<PairOp>::names)
    for (const Explored& one : explored(op, usual_schedules).fastest_first)
      if (is_hybrid(one)) {
        EXPECT_TRUE(find_races(as_run(one)).empty()) << one.candidate.request.id;
      }
}

TEST(Exploration, NamedSchedulesKeepTheirTimesBesideHybrids) {
  const Answer named = explored(PairOp::gemm_reduce_scatter, 0);
  const Answer more = explored(PairOp::gemm_reduce_scatter, usual_schedules);
  std::size_t found = 0;
  for (const Explored& one : more.fastest_first)
    for (const Explored& other : named.fastest_first)
      if (one.candidate.request.id == other.candidate.request.id) {
        ++found;
        EXPECT_EQ(one.candidate.estimate.time_us, other.candidate.estimate.time_us) << one.candidate.request.id;
      }
  EXPECT_EQ(found, named.fastest_first.size());
}

TEST(Exploration, SaysTheSameOnEveryRun) {
  const Answer first = explored(PairOp::gemm_all_to_all, usual_schedules);
  const Answer second = explored(PairOp::gemm_all_to_all, usual_schedules);
  ASSERT_EQ(first.fastest_first.size(), second.fastest_first.size());
  for (std::size_t i = 0; i < first.fastest_first.size(); ++i) {
    EXPECT_EQ(first.fastest_first[i].candidate.request, second.fastest_first[i].candidate.request);
    EXPECT_EQ(first.fastest_first[i].candidate.estimate.time_us, second.fastest_first[i].candidate.estimate.time_us);
  }
}

TEST(Exploration, RefusesCollectivesThatAreAskedForAndTheMachineLacks) {
  scenarios::Scenario scenario;
  scenario.gpus = 2;
  scenario.sizes = {1024};
  scenario.plain = {PairWorkload{PairOp::gemm_reduce_scatter, 1024, 1024, 512}};
  scenario.space.families = {{"serial"}};
  scenario.space.collectives = {Collectives::multimem};
  EXPECT_THROW(explore(scenario, h200(), simulator()), InputError);
  scenario.space.collectives = {Collectives::two_shot};
  EXPECT_NO_THROW(explore(scenario, h200(), simulator()));
}

TEST(Exploration, WhoChoosesFamiliesGetsThoseAlone) {
  scenarios::SearchSpace space;
  space.families = {{"decomposition", "async_tp", "signaling"}};
  for (const Explored& one : explored(PairOp::gemm_reduce_scatter, usual_schedules, space).fastest_first)
    EXPECT_FALSE(is_hybrid(one)) << one.candidate.request.id;
}

}  // namespace exploration_test
}  // namespace weft::scenarios::study
