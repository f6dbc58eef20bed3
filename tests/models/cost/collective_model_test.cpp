#include "models/cost/collective_model.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <utility>

#include "models/cost/library_model.hpp"

namespace weft {
namespace collective_model_test {

constexpr auto all_gather = CollectiveKind::all_gather;

/// A switch of 100 GB/s; the library needs 10 us and 1 us a step, its channels move 20 GB/s each. Of 4 GPUs there is a
/// curve: 1 MB in 20 us, 11 MB in 120 us.
Machine machine_with_curve() {
  Machine machine;
  machine.fabric.link = {100, 125};
  machine.collectives = {{.kind = all_gather,
                          .gpus = 4,
                          .ctas = 8,
                          .points = {{.bytes = 1'000'000, .kernel_us = 20, .alone_us = 22},
                                     {.bytes = 11'000'000, .kernel_us = 120, .alone_us = 122}}}};
  machine.collective_protocols = {{.name = "ring",
                                   .algorithm = CollectiveAlgorithm::ring,
                                   .channels = 8,
                                   .channel_GBps = 20,
                                   .efficiency = 1,
                                   .base_us = 10,
                                   .hop_us = 1},
                                  {.name = "direct",
                                   .algorithm = CollectiveAlgorithm::direct,
                                   .channels = 8,
                                   .channel_GBps = 20,
                                   .efficiency = 1,
                                   .base_us = 10,
                                   .hop_us = 1}};
  machine.latencies.collective_graph_gap_us = 2;
  return machine;
}

double kernel_us(const CollectiveTiming& timing) { return timing.latency_us + timing.transfer_us; }

TEST(TimeCollective, ReadsTheCurveWhereThereIsOne) {
  const CollectiveTiming timing = time_collective(machine_with_curve(), all_gather, 4, 6'000'000, 0);
  EXPECT_DOUBLE_EQ(kernel_us(timing), 70);
  EXPECT_DOUBLE_EQ(timing.alone_us, 72);
  EXPECT_EQ(timing.ctas, 8);
}

// 1 MB in 20 us and 22 MB in 209 us are 9 us for each MB; of 21 and 22 MB alone one would say that more takes less.
TEST(TimeCollective, GoesOnBehindTheCurveAtTheRateOfAllOfIt) {
  Machine machine = machine_with_curve();
  machine.collectives.front().points.push_back({.bytes = 21'000'000, .kernel_us = 220, .alone_us = 222});
  machine.collectives.front().points.push_back({.bytes = 22'000'000, .kernel_us = 209, .alone_us = 211});
  const CollectiveTiming timing = time_collective(machine, all_gather, 4, 64'000'000, 0);
  EXPECT_DOUBLE_EQ(kernel_us(timing), 20 + 63 * 9);
  EXPECT_DOUBLE_EQ(timing.alone_us, 22 + 63 * 9);
}

Machine machine_with_points(std::initializer_list<std::pair<Bytes, double>> kernels_us) {
  Machine machine = machine_with_curve();
  machine.collectives.front().points.clear();
  for (const auto& [bytes, kernel_us] : kernels_us)
    machine.collectives.front().points.push_back({bytes, kernel_us, kernel_us + 2});
  return machine;
}

// 10 us for each MB until 3 MB, 2 from there on.
TEST(TimeCollective, GoesOnOnItsSideOfAChangeOfProtocol) {
  Machine machine = machine_with_points({{1'000'000, 20}, {2'000'000, 30}, {4'000'000, 25}, {6'000'000, 29}});
  const auto us = [&](Bytes bytes) { return kernel_us(time_collective(machine, all_gather, 4, bytes, 0)); };
  EXPECT_DOUBLE_EQ(us(3'000'000), 27.5);
  machine.collectives.front().change_bytes = 3'000'000;
  EXPECT_DOUBLE_EQ(us(2'900'000), 39);
  EXPECT_DOUBLE_EQ(us(3'000'000), 23);
  EXPECT_DOUBLE_EQ(us(3'500'000), 24);
  EXPECT_DOUBLE_EQ(us(1'500'000), 25);
  EXPECT_DOUBLE_EQ(us(5'000'000), 27);
}

// The slope of two sizes that are near is noise, and what has no other size on its side is read as before.
TEST(TimeCollective, BesideAChangeTakesSizesThatLieApart) {
  Machine machine = machine_with_points({{1'000'000, 20}, {1'990'000, 45}, {2'000'000, 30}, {4'000'000, 50}});
  machine.collectives.front().change_bytes = 3'000'000;
  const auto us = [&](Bytes bytes) { return kernel_us(time_collective(machine, all_gather, 4, bytes, 0)); };
  EXPECT_DOUBLE_EQ(us(2'500'000), 35);
  EXPECT_DOUBLE_EQ(us(3'000'000), 40);
}

// The graph of the smallest size was one of those that are launched slowly; of the first five, gaps of 2 us are usual.
TEST(TimeCollective, BelowTheCurveOfAProfileWithoutProtocolsTakesTheUsualGap) {
  Machine machine = machine_with_curve();
  machine.collective_protocols.clear();
  std::vector<CurvePoint>& points = machine.collectives.front().points;
  points.front().alone_us = 42;
  for (const int us : {30, 40, 50})
    points.insert(points.end() - 1, {.bytes = 100'000 * (us - 10), .kernel_us = double(us), .alone_us = us + 2.0});
  EXPECT_DOUBLE_EQ(time_collective(machine, all_gather, 4, 1000, 0).alone_us, 22);
  EXPECT_DOUBLE_EQ(time_collective(machine, all_gather, 4, 1'000'000, 0).alone_us, 42);
}

// A slow launch that only the smallest size drew: none of the next four sizes takes more than 62 us.
TEST(TimeCollective, TheSmallestSizeOfACurveTakesNoLongerThanTheNextOnes) {
  Machine machine = machine_with_curve();
  machine.collective_protocols.clear();
  std::vector<CurvePoint>& points = machine.collectives.front().points;
  points.front().alone_us = 400;
  for (const int us : {30, 40, 50, 60})
    points.insert(points.end() - 1, {.bytes = 100'000 * (us - 10), .kernel_us = double(us), .alone_us = us + 2.0});
  EXPECT_DOUBLE_EQ(time_collective(machine, all_gather, 4, 1'000'000, 0).alone_us, 62);
}

// 8 GPUs: 7/8 of 8 MB at 100 GB/s are 70 us, after 10 + 7 us; the kernel lacks the gap of 2 us between two calls.
TEST(TimeCollective, BelowTheCurveFallsAsThatOfACountWhichBeginsEarlier) {
  Machine machine = machine_with_curve();
  machine.collective_protocols.clear();
  const double flat_us = kernel_us(time_collective(machine, all_gather, 4, 1000, 0));
  machine.collectives.push_back({.kind = all_gather,
                                 .gpus = 2,
                                 .ctas = 8,
                                 .points = {{.bytes = 1000, .kernel_us = 5, .alone_us = 7, .ctas = 2},
                                            {.bytes = 1'000'000, .kernel_us = 11, .alone_us = 13, .ctas = 8}}});
  const CollectiveTiming fallen = time_collective(machine, all_gather, 4, 1000, 0);
  EXPECT_DOUBLE_EQ(kernel_us(fallen), flat_us - 6);
  EXPECT_EQ(fallen.ctas, 2);
  EXPECT_DOUBLE_EQ(kernel_us(time_collective(machine, all_gather, 4, 1'000'000, 0)), flat_us);
  machine.collectives.back().points.front().kernel_us = 0.1;
  machine.collectives.back().points.back().kernel_us = 30;
  EXPECT_DOUBLE_EQ(kernel_us(time_collective(machine, all_gather, 4, 1000, 0)), flat_us / 2) << "to half at most";
  machine.collectives.back().kind = CollectiveKind::all_reduce;
  EXPECT_DOUBLE_EQ(kernel_us(time_collective(machine, all_gather, 4, 1000, 0)), flat_us) << "of another kind";
}

TEST(TimeCollective, AsksTheLibrarysModelWhereThereIsNoCurve) {
  const CollectiveTiming timing = time_collective(machine_with_curve(), all_gather, 8, 8'000'000, 0);
  EXPECT_DOUBLE_EQ(timing.alone_us, 87);
  EXPECT_DOUBLE_EQ(timing.latency_us, 15);
  EXPECT_DOUBLE_EQ(timing.transfer_us, 70);
}

// Of 4 GPUs 11 MB take 122 us, and of 8 three times what the model says: so of 6 it is off by the mean of both.
TEST(TimeCollective, BetweenTwoMeasuredCountsIsAsFarFromTheModelAsThese) {
  Machine machine = machine_with_curve();
  const auto model_us = [&](int gpus) { return library_time(machine, all_gather, gpus, 11e6, 0).time_us(); };
  const double of_eight_us = 3 * model_us(8);
  machine.collectives.push_back({.kind = all_gather,
                                 .gpus = 8,
                                 .ctas = 8,
                                 .points = {{.bytes = 1'000'000, .kernel_us = 20, .alone_us = 22},
                                            {.bytes = 11'000'000, .kernel_us = of_eight_us, .alone_us = of_eight_us}}});
  EXPECT_NEAR(time_collective(machine, all_gather, 6, 11'000'000, 0).alone_us,
              model_us(6) * (122 / model_us(4) + 3) / 2, 1e-9);
}

TEST(TimeCollective, GoesOnBelowTheCurveInTheProportionOfTheModel) {
  const Machine machine = machine_with_curve();
  const auto model_us = [&](double bytes) { return library_time(machine, all_gather, 4, bytes, 0).time_us(); };
  const CollectiveTiming timing = time_collective(machine, all_gather, 4, 1000, 0);
  EXPECT_NEAR(kernel_us(timing), 20 * model_us(1000) / model_us(1e6), 1e-9);
}

// Two channels of 20 GB/s: 3/4 of 6 MB take 112.5 us; the model with all needs 45 us, the curve 50 us after its
// latency.
TEST(TimeCollective, OfFewerCtasThanTheCurveIsBoundByTheirRate) {
  const CollectiveTiming timing = time_collective(machine_with_curve(), all_gather, 4, 6'000'000, 2);
  EXPECT_EQ(timing.ctas, 2);
  EXPECT_DOUBLE_EQ(kernel_us(timing), 10 + 3 + 112.5 - 2);  // the model's, without the gap between graphs
  EXPECT_DOUBLE_EQ(kernel_us(time_collective(machine_with_curve(), all_gather, 4, 6'000'000, 6)), 70);
}

TEST(TimeCollective, OfFewerCtasIsNoFasterBelowTheCurve) {
  const auto time_us = [](int max_ctas) {
    return kernel_us(time_collective(machine_with_curve(), all_gather, 4, 1000, max_ctas));
  };
  EXPECT_GE(time_us(1), time_us(0));
  EXPECT_LT(time_us(1), time_us(0) + 1);
}

TEST(TimeCollective, OfMoreBytesOrFewerCtasIsNoFasterWhereTheLibraryChangesItsProtocol) {
  Machine machine = machine_with_curve();
  CollectiveProtocol quick = machine.collective_protocols.front();
  quick.name = "quick", quick.channel_GBps = 10, quick.base_us = 4;
  machine.collective_protocols.push_back(quick);
  const auto time_us = [&](Bytes bytes, int max_ctas) {
    return kernel_us(time_collective(machine, all_gather, 4, bytes, max_ctas));
  };
  for (Bytes bytes = 10'000; bytes < 4'000'000; bytes += bytes / 20) {
    EXPECT_GE(time_us(bytes + bytes / 20, 1), time_us(bytes, 1)) << bytes;
    EXPECT_GE(time_us(bytes, 1), time_us(bytes, 2)) << bytes;
    EXPECT_GE(time_us(bytes, 2), time_us(bytes, 0)) << bytes;
  }
}

TEST(TimeCollective, OfACountMeasuredByDefaultIsAsMuchSlowerWithFewCtasAsTheNearestThatTells) {
  Machine machine = machine_with_curve();
  machine.collective_protocols.clear();
  CollectiveCurve few = machine.collectives.front(), of_eight = few;
  few.max_ctas = few.ctas = 2;
  for (CurvePoint& point : few.points) point.kernel_us *= 3, point.alone_us *= 3;
  of_eight.gpus = 8;
  machine.collectives.insert(machine.collectives.end(), {few, of_eight});
  for (const Bytes bytes : {500'000, 2'000'000, 8'000'000}) {
    const auto of = [&](int max_ctas) { return time_collective(machine, all_gather, 8, bytes, max_ctas); };
    EXPECT_NEAR(kernel_us(of(2)), 3 * kernel_us(of(0)), 1e-9);
    EXPECT_EQ(of(2).ctas, 2);
  }
}

/// 6 MB take 70 us with 8 CTAs, and 110 us with 4.
TEST(TimeCollective, OfALimitBetweenTwoCurvesIsNearerToTheCurveOfNearerCtas) {
  Machine machine = machine_with_curve();
  machine.collective_protocols.clear();
  machine.collectives.push_back({.kind = all_gather,
                                 .gpus = 4,
                                 .max_ctas = 4,
                                 .ctas = 4,
                                 .points = {{.bytes = 1'000'000, .kernel_us = 30, .alone_us = 32},
                                            {.bytes = 11'000'000, .kernel_us = 190, .alone_us = 192}}});
  const auto time_us = [&](int max_ctas) {
    return kernel_us(time_collective(machine, all_gather, 4, 6'000'000, max_ctas));
  };
  EXPECT_DOUBLE_EQ(time_us(4), 110);
  EXPECT_DOUBLE_EQ(time_us(5), 100);
  EXPECT_DOUBLE_EQ(time_us(7), 80);
  EXPECT_DOUBLE_EQ(time_us(8), 70);
  EXPECT_EQ(time_collective(machine, all_gather, 4, 6'000'000, 7).ctas, 7);
}

/// 1 MB in 20 us and 11 MB in 120 us on two GPUs, by both transports on windows.
Machine machine_with_windows() {
  Machine machine = machine_with_curve();
  for (const auto& [transport, ctas] : {std::pair{Transport::nccl_symmetric, 8}, {Transport::nccl_copy_engine, 0}})
    machine.symmetric_collectives.push_back({.kind = all_gather,
                                             .gpus = 2,
                                             .ctas = ctas,
                                             .points = {{.bytes = 1'000'000, .kernel_us = 20, .alone_us = 25},
                                                        {.bytes = 11'000'000, .kernel_us = 120, .alone_us = 125}},
                                             .transport = transport});
  return machine;
}

TEST(TimeInWindows, ReadsTheCurveOfItsTransport) {
  const Machine machine = machine_with_windows();
  for (const Transport transport : {Transport::nccl_symmetric, Transport::nccl_copy_engine}) {
    const CollectiveTiming timing = time_in_windows(machine, transport, all_gather, 2, 6'000'000, 0);
    EXPECT_DOUBLE_EQ(kernel_us(timing), 70);
    EXPECT_DOUBLE_EQ(timing.alone_us, 75);
    EXPECT_DOUBLE_EQ(timing.port_bytes, 3'000'000);
    EXPECT_EQ(timing.ctas, transport == Transport::nccl_copy_engine ? 0 : 8);
  }
}

// 3/4 of 4 MB leave each of four GPUs, as many bytes as half of 6 MB leave each of two.
TEST(TimeInWindows, OfMoreGpusIsThatOfTheSameBytesThroughEachPort) {
  const CollectiveTiming timing =
      time_in_windows(machine_with_windows(), Transport::nccl_copy_engine, all_gather, 4, 4'000'000, 0);
  EXPECT_DOUBLE_EQ(kernel_us(timing), 70);
}

TEST(TimeInWindows, WithoutACurveIsRefused) {
  const Machine machine = machine_with_windows();
  EXPECT_THROW(time_in_windows(machine, Transport::nccl_copy_engine, CollectiveKind::all_to_all, 2, 1000, 0),
               InputError);
  EXPECT_THROW(time_in_windows(machine_with_curve(), Transport::nccl_symmetric, all_gather, 2, 1000, 0), InputError);
}

TEST(TimeCollective, OfAnUnknownKindIsRefused) {
  Machine machine = machine_with_curve();
  machine.collective_protocols.clear();
  EXPECT_THROW(time_collective(machine, CollectiveKind::all_reduce, 4, 1000, 0), InputError);
}

}  // namespace collective_model_test
}  // namespace weft
