#include "sim/stream_timing.hpp"

#include <gtest/gtest.h>

#include "tests/sim/test_machine.hpp"

namespace weft::sim {
namespace stream_timing_test {

/// Of a collective and something else that begin a graph on two GPUs together.
double starts_first(bool is_created_first, Condition condition) {
  Schedule schedule;
  schedule.gpus = 2;
  schedule.launch = Launch::graph;
  schedule.streams = {{"a"}, {"b"}};
  schedule.operations = {{"collective", 0, {}, Collective{}}, {"other", 1, {}, Delay{}}};
  if (!is_created_first) std::swap(schedule.operations[0], schedule.operations[1]);
  Machine machine = test_machine();
  machine.condition.condition = condition;
  machine.collective_kernel.created_first_wins = 0.5;
  machine.collective_kernel.created_later_wins = 0.25;
  return timing_of(schedule, machine, {}).starts_first;
}

TEST(StreamTiming, AfterAPauseACollectiveStartsFirstInThoseGraphsInWhichItDoesOnEveryRank) {
  EXPECT_DOUBLE_EQ(starts_first(true, Condition::after_pause), 0.25);
  EXPECT_DOUBLE_EQ(starts_first(false, Condition::after_pause), 0.0625);
}

TEST(StreamTiming, UnderLoadACollectiveThatWasCreatedFirstStartsFirstAndALaterOneOnHalfOfTheGpus) {
  EXPECT_DOUBLE_EQ(starts_first(true, Condition::sustained), 1);
  EXPECT_DOUBLE_EQ(starts_first(false, Condition::sustained), 0.25);
}

/// From a graph with an uneven exchange to the next.
double graph_gap_us(Transport transport) {
  Schedule schedule;
  schedule.gpus = 2;
  schedule.launch = Launch::graph;
  schedule.streams = {{"a"}};
  schedule.operations = {{"exchange", 0, {}, GroupedExchange{.transport = transport}}};
  return to_us(timing_of(schedule, test_machine(), {}).iteration_gap);
}

TEST(StreamTiming, GraphsFollowLateAfterExchangesOfTheLibraryAlone) {
  EXPECT_DOUBLE_EQ(graph_gap_us(Transport::nccl), test_machine().latencies.collective_graph_gap_us);
  EXPECT_DOUBLE_EQ(graph_gap_us(Transport::peer_kernel), test_machine().latencies.graph_gap_us);
}

}  // namespace stream_timing_test
}  // namespace weft::sim
