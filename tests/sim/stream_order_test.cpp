#include "sim/stream_order.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace weft::sim {
namespace stream_order_test {

constexpr Picoseconds chain_spread{7}, fork_spread{2}, before_copy{3}, signal{5};

StreamTiming timing() {
  StreamTiming timing;
  timing.copy_gap_spread = chain_spread;
  timing.copy_fork_spread = fork_spread;
  timing.before_copy_gap = before_copy;
  timing.signal = signal;
  return timing;
}

/// A graph of two ranks on two streams.
Schedule graph_of(std::vector<Operation> operations) {
  Schedule schedule;
  schedule.gpus = 2;
  schedule.launch = Launch::graph;
  schedule.streams = {{"a"}, {"b"}};
  schedule.operations = std::move(operations);
  return schedule;
}

Copy pull() {
  Copy copy;
  copy.source.place = 1;
  return copy;
}

/// The edge of a copy to a peer that follows `first` on another stream of a graph.
StreamEdge edge_of_copy_behind(Work first, Point point = Point::end) {
  Copy copy;
  copy.destination.place = 1;
  const Schedule schedule = graph_of({{"first", 0, {}, std::move(first)}, {"copy", 1, {{0, point, 0}}, copy}});
  return StreamOrder(schedule, timing()).edges(1).front();
}

TEST(StreamOrder, LetsCopiesBehindAGemmStartAsUnevenlyAsThoseOfOneStream) {
  EXPECT_EQ(edge_of_copy_behind(Gemm{}).spread, chain_spread);
  EXPECT_EQ(edge_of_copy_behind(Barrier{}).spread, fork_spread);
}

TEST(StreamOrder, PutsAWaitingKernelBetweenAGroupOfTilesAndWhoFollowsIt) {
  EXPECT_EQ(edge_of_copy_behind(Gemm{}).gap, before_copy);
  EXPECT_EQ(edge_of_copy_behind(Gemm{}, Point::tile_group).gap, before_copy + signal);
}

// "gemm" waits for the copy, and "leave" for both: for the copy no more than for what is long over.
TEST(StreamOrder, DoesNotWaitAgainForACopyThatAnOperationBeforeHasWaitedFor) {
  StreamTiming timing;
  timing.join_gap = Picoseconds{4};
  timing.after_copy_gap = Picoseconds{9};
  for (const bool gemm_waits : {true, false}) {
    std::vector<After> before_gemm;
    if (gemm_waits) before_gemm.push_back({0});
    const Schedule schedule =
        graph_of({{"copy", 1, {}, pull()}, {"gemm", 0, before_gemm, Gemm{}}, {"leave", 0, {{0}}, Barrier{}}});
    const StreamOrder order(schedule, timing);
    for (const StreamEdge& edge : order.edges(2)) EXPECT_EQ(edge.gap, Picoseconds{gemm_waits ? 4 : 9});
  }
}

/// Two copies beside a stream of GEMMs that waits for each of them, as FiCCO has them on two GPUs.
std::vector<Operation> chunks_of_peer(Work first) {
  return {{"enter", 0, {}, Barrier{}},  {"first", 0, {}, std::move(first)}, {"pull 0", 1, {{0}}, pull()},
          {"gemm 0", 0, {{2}}, Gemm{}}, {"pull 1", 1, {}, pull()},          {"gemm 1", 0, {{4}}, Gemm{}}};
}

Picoseconds spread_behind(const StreamOrder& order, OperationId id, OperationId before) {
  for (const StreamEdge& edge : order.edges(id))
    if (edge.operation == before) return edge.spread;
  return Picoseconds{-1};
}

TEST(StreamOrder, NoticesOneOfSeveralCopiesLateWhereItsStreamHasNoCopyBefore) {
  constexpr Picoseconds wait_spread{5};
  StreamTiming timing = stream_order_test::timing();
  timing.copy_wait_spread = wait_spread;
  Copy own;
  for (const bool begins_by_copy : {false, true}) {
    const Schedule schedule = graph_of(chunks_of_peer(begins_by_copy ? Work{own} : Work{Gemm{}}));
    const StreamOrder order(schedule, timing);
    const Picoseconds expected = begins_by_copy ? Picoseconds{} : wait_spread;
    EXPECT_EQ(spread_behind(order, 2, 0), expected);
    EXPECT_EQ(spread_behind(order, 3, 2), expected);
    EXPECT_EQ(spread_behind(order, 5, 4), expected);
    EXPECT_EQ(spread_behind(order, 5, 3), Picoseconds{}) << "a GEMM is noticed at once";
  }
}

TEST(StreamOrder, SignalsOfCopiesThatAreOverFollowEachOtherAsKernels) {
  StreamTiming timing;
  timing.kernel_gap = Picoseconds{1};
  timing.after_copy_gap = Picoseconds{9};
  timing.copy_ranks_gap = Picoseconds{5};
  const Schedule schedule = graph_of({{"pull 0", 0, {}, pull()},
                                      {"flag 0", 1, {{0}}, Signal{}},
                                      {"pull 1", 0, {}, pull()},
                                      {"flag 1", 1, {{2}}, Signal{}}});
  const StreamOrder order(schedule, timing);
  EXPECT_EQ(order.edges(1).front().gap, Picoseconds{9 + 5});
  ASSERT_EQ(order.edges(3).size(), 2);
  for (const StreamEdge& edge : order.edges(3)) EXPECT_EQ(edge.gap, Picoseconds{edge.operation == 1 ? 1 : 9});
}

/// Two streams that meet again: what waits for both begins later where one of them comes from a copy.
TEST(StreamOrder, KernelsAmongKernelsJoinAtOnce) {
  StreamTiming timing;
  timing.kernel_gap = Picoseconds{2};
  timing.join_gap = Picoseconds{4};
  for (const Work& first : {Work{pull()}, Work{Gemm{}}}) {
    const Schedule schedule = graph_of({{"first", 1, {}, first},
                                        {"behind it", 1, {}, Gemm{}},
                                        {"beside it", 0, {}, Gemm{}},
                                        {"last", 0, {{1}}, Gemm{}}});
    const StreamOrder order(schedule, timing);
    ASSERT_EQ(order.edges(3).size(), 2);
    for (const StreamEdge& edge : order.edges(3))
      EXPECT_EQ(edge.gap, Picoseconds{std::holds_alternative<Copy>(first) ? 4 : 2});
  }
}

/// Gathers on one stream, and a GEMM on another that waits for the first of them: it continues the chain, and the next
/// gather comes later, unless the branches share a queue.
TEST(StreamOrder, CollectivesFollowEachOtherInAQueueThatBranchesShare) {
  StreamTiming timing;
  timing.kernel_gap = Picoseconds{1};
  timing.collective_gap = Picoseconds{2};
  timing.behind_gemm_gap = Picoseconds{6};
  for (const int connections : {0, 1, 2}) {
    Schedule schedule =
        graph_of({{"gather 0", 1, {}, Collective{}}, {"gemm", 0, {{0}}, Gemm{}}, {"gather 1", 1, {}, Collective{}}});
    schedule.max_connections = connections;
    EXPECT_EQ(StreamOrder(schedule, timing).edges(2).front().gap, Picoseconds{connections == 0 ? 6 : 2});
  }
}

/// A kernel of another stream waits for the collective as for any kernel.
TEST(StreamOrder, AKernelBehindACollectiveOnItsStreamBeginsLater) {
  StreamTiming timing;
  timing.kernel_gap = Picoseconds{1};
  timing.after_collective_gap = Picoseconds{3};
  for (const StreamId stream : {0, 1}) {
    const Schedule schedule = graph_of({{"gather", 0, {}, Collective{}}, {"gemm", stream, {{0}}, Gemm{}}});
    EXPECT_EQ(StreamOrder(schedule, timing).edges(1).front().gap, Picoseconds{stream == 0 ? 3 : 1});
  }
  const Schedule by_copies = graph_of({{"first", 0, {}, Gemm{}}, {"second", 0, {}, Gemm{}}});
  EXPECT_EQ(StreamOrder(by_copies, timing).edges(1).front().gap, Picoseconds{1});
}

TEST(StreamOrder, TheHostLaunchesOneOperationAfterTheOtherAndTheLibrarysTakeItLonger) {
  StreamTiming timing;
  timing.host_launch = Picoseconds{5};
  timing.host_collective = Picoseconds{4};
  Schedule schedule = graph_of({{"gather", 0, {}, Collective{}}, {"gemm", 0, {}, Gemm{}}});
  EXPECT_EQ(StreamOrder(schedule, timing).launched(1, 2), Picoseconds{0}) << "a graph is launched as one";
  schedule.launch = Launch::eager;
  const StreamOrder order(schedule, timing);
  EXPECT_EQ(order.launched(0, 0), Picoseconds{9});
  EXPECT_EQ(order.launched(1, 0), Picoseconds{14});
  EXPECT_EQ(order.launched(0, 2), Picoseconds{37});
}

/// The all-reduce behind a GEMM on another stream, while the next GEMM waits for the same one.
TEST(StreamOrder, WithoutAGraphChanceDecidesWhetherACollectiveOrTheNextGemmComesFirst) {
  StreamTiming timing;
  timing.kernel_gap = Picoseconds{4}, timing.fork_gap = Picoseconds{6};
  timing.early_fork_gap = Picoseconds{1}, timing.event_spread = Picoseconds{9};
  Schedule schedule = graph_of({{"gemm 0", 0, {}, Gemm{}},
                                {"all_reduce", 1, {{0}}, Collective{}},
                                {"gemm 1", 0, {}, Gemm{}},
                                {"other", 1, {{2}}, Gemm{}}});
  EXPECT_FALSE(StreamOrder(schedule, timing).ranks_race());
  schedule.launch = Launch::eager;
  const StreamOrder order(schedule, timing);
  EXPECT_TRUE(order.ranks_race());
  EXPECT_EQ(order.edges(1).front().gap, timing.early_fork_gap);
  EXPECT_EQ(order.edges(1).front().spread, timing.event_spread);
  EXPECT_EQ(order.edges(2).front().gap, timing.kernel_gap);
  EXPECT_EQ(order.edges(3).back().gap, timing.fork_gap) << "a kernel of one rank waits for no other rank";
  timing.event_spread = {};
  EXPECT_FALSE(StreamOrder(schedule, timing).ranks_race());
}

/// Two copies on one stream, the second of which waits for a GEMM as well.
TEST(StreamOrder, ACopyBehindACopyBeginsLaterWhereItWaitsForOthersToo) {
  StreamTiming timing;
  timing.copy_gap = Picoseconds{2};
  timing.copy_join_gap = Picoseconds{5};
  for (const bool waits_for_gemm : {false, true}) {
    std::vector<After> after;
    if (waits_for_gemm) after.push_back({1});
    const Schedule schedule =
        graph_of({{"first", 1, {}, pull()}, {"gemm", 0, {}, Gemm{}}, {"second", 1, after, pull()}});
    EXPECT_EQ(StreamOrder(schedule, timing).edges(2).front().gap, Picoseconds{waits_for_gemm ? 7 : 2});
  }
}

}  // namespace stream_order_test
}  // namespace weft::sim
