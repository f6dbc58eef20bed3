#include "sim/regime.hpp"

#include <gtest/gtest.h>

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
