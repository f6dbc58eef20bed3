#include "sim/regime.hpp"

#include <gtest/gtest.h>

#include <set>

#include "sim/simulated_executor.hpp"
#include "tests/schedule_parts.hpp"
#include "tests/sim/test_machine.hpp"

namespace weft::sim {
namespace regime_test {

Regime regime(const Work& work, Launch launch, int ranks, double starts_first = 0) {
  Schedule schedule;
  schedule.gpus = ranks;
  schedule.launch = launch;
  schedule.streams = {{"s"}};
  schedule.operations = {{"only", 0, {}, work}};
  StreamTiming timing;
  timing.starts_first = starts_first;
  return regime_of(StreamOrder(schedule, timing), ranks);
}

TEST(Regime, GraphOfEqualRanksStartsFromRest) {
  EXPECT_EQ(regime(Delay{}, Launch::graph, 1), Regime::from_rest);
  EXPECT_EQ(regime(Delay{}, Launch::eager, 1), Regime::host_driven);
}

TEST(Regime, RanksThatNeverMeetDriftApart) {
  EXPECT_EQ(regime(Delay{}, Launch::graph, 4), Regime::adrift);
  EXPECT_EQ(regime(Delay{}, Launch::eager, 4), Regime::adrift);
  EXPECT_EQ(regime(Barrier{}, Launch::graph, 4), Regime::meeting);
  EXPECT_EQ(regime(Barrier{}, Launch::eager, 4), Regime::host_driven);
}

TEST(Regime, WhatStartsInAnotherOrderEachTimeRaces) {
  EXPECT_EQ(regime(Collective{}, Launch::graph, 1, 0.5), Regime::racing);
}

// A collective may hold SMs of one rank before the next GEMM, and wait for SMs of the other behind it.
TEST(Regime, RanksWhoseCollectivesStartByChanceAreSimulatedEachForItself) {
  Schedule schedule;
  schedule.gpus = 2;
  schedule.launch = Launch::eager;
  schedule.streams = {{"s0"}, {"s1"}};
  const Slice a = tests::add_buffer(schedule, "a", 8192, 2048), b = tests::add_buffer(schedule, "b", 8192, 2048),
              c = tests::add_buffer(schedule, "c", 8192, 8192), d = tests::add_buffer(schedule, "d", 8192, 8192);
  const Collective sum{.kind = CollectiveKind::all_reduce, .input = c, .output = c};
  schedule.operations = {{"gemm 0", 0, {}, Gemm{.a = a, .b = b, .c = c}},
                         {"all_reduce", 1, {{0}}, sum},
                         {"gemm 1", 0, {}, Gemm{.a = a, .b = b, .c = d}},
                         {"join", 0, {{1}}, Delay{}}};
  Machine machine = test_machine();
  SimulationStatistics alike, apart;
  SimulatedExecutor().run(schedule, machine, &alike);
  machine.latencies.eager_event_spread_us = 2 * machine.latencies.eager_event_us;
  const Trace by_chance = SimulatedExecutor().run(schedule, machine, &apart);
  SimulationStatistics in_step;
  SimulatedExecutor({.mechanisms = {.skew = false}}).run(schedule, machine, &in_step);
  EXPECT_EQ(in_step.ranks, 1);
  EXPECT_EQ(alike.ranks, 1);
  EXPECT_EQ(apart.ranks, 2);
  EXPECT_GT(apart.iterations, alike.iterations);
  std::set<double> starts_us;
  for (const Span& span : by_chance.spans)
    if (span.operation == "all_reduce") starts_us.insert(span.start_us);
  EXPECT_EQ(starts_us.size(), 2u);
}

Schedule schedule_of(const Work& work) {
  Schedule schedule;
  schedule.gpus = 4;
  schedule.streams = {{"s"}};
  schedule.operations = {{"only", 0, {}, work}};
  return schedule;
}

TEST(Ranks, DoTheSameWhereNeitherRowsNorLinksDiffer) {
  EXPECT_TRUE(ranks_do_the_same(schedule_of(Copy{}), FabricKind::nvswitch));
  EXPECT_TRUE(ranks_do_the_same(schedule_of(Copy{}), FabricKind::mesh));
  EXPECT_FALSE(ranks_do_the_same(schedule_of(Copy{}), FabricKind::pcie));
  EXPECT_FALSE(ranks_do_the_same(schedule_of(Copy{}), FabricKind::nvlink_pairs));
  EXPECT_FALSE(ranks_do_the_same(schedule_of(GroupedExchange{}), FabricKind::nvswitch));
}

}  // namespace regime_test
}  // namespace weft::sim
