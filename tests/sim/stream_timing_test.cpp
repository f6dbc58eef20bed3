#include "sim/stream_timing.hpp"

#include <gtest/gtest.h>

#include <algorithm>

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

/// On one GPU, of operations that read and write nothing.
Schedule graph_of(const std::vector<Work>& kernels) {
  Schedule schedule;
  schedule.launch = Launch::graph;
  schedule.streams = {{"a"}};
  for (const Work& work : kernels) schedule.operations.push_back({"", 0, {}, work});
  return schedule;
}

TEST(StreamTiming, KernelsFollowLaterTheMoreOfThemTakeTurns) {
  Machine machine = test_machine();
  machine.latencies.cold_code_us = 0.8;
  const auto longer_us = [&](const Schedule& schedule) {
    return to_us(timing_of(schedule, machine, {}).kernel_gap - timing_of(schedule, test_machine(), {}).kernel_gap);
  };
  std::vector<Work> kernels{Attention{}};
  EXPECT_EQ(longer_us(graph_of(kernels)), 0);
  for (int i = 1; i <= 10; ++i) {
    Gemm gemm;
    gemm.a.columns = 64 * i;
    kernels.insert(kernels.end(), {gemm, Attention{}, gemm});
    EXPECT_NEAR(longer_us(graph_of(kernels)), 0.8 * std::clamp((i - 2) / 3.0, 0.0, 1.0), 1e-6) << i << " and another";
  }
  Schedule eager = graph_of(kernels);
  eager.launch = Launch::eager;
  EXPECT_EQ(longer_us(eager), 0);
}

TEST(StreamTiming, KernelsFollowLaterWhereTwoStreamsOnceRanThemAtOneTime) {
  Machine machine = test_machine();
  machine.latencies.late_gap_us = 0.5;
  const auto longer_us = [&](const Schedule& schedule) {
    return to_us(timing_of(schedule, machine, {}).kernel_gap - timing_of(schedule, test_machine(), {}).kernel_gap);
  };
  Schedule schedule = graph_of({Gemm{}, Gemm{}});
  EXPECT_EQ(longer_us(schedule), 0);
  machine.condition.late_kernels = true;
  EXPECT_DOUBLE_EQ(longer_us(schedule), 0.5) << "another's";
  machine.condition.late_kernels = false;
  schedule.streams.push_back({"b"});
  schedule.operations[1].stream = 1;
  EXPECT_EQ(longer_us(schedule), 0) << "warm of one stream";
  machine.condition.warmed_on_all_streams = true;
  EXPECT_DOUBLE_EQ(longer_us(schedule), 0.5) << "its own";
}

}  // namespace stream_timing_test
}  // namespace weft::sim
