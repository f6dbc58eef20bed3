// What the units of simulated GPUs do, instant by instant.
#include "sim/observer.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "scenarios/families/build.hpp"
#include "sim/simulated_executor.hpp"
#include "tests/sim/test_machine.hpp"

namespace weft::sim {
namespace observer_test {

using namespace scenarios;

constexpr PairWorkload pair{PairOp::gemm_reduce_scatter, 8192, 8192, 4096};

Schedule schedule_of(const Workload& workload, int gpus, const ScheduleChoice& choice = {}) {
  return families::build({.id = "case", .gpus = gpus, .workload = workload, .schedule = choice, .measured = {}},
                         test_machine());
}

Timeline observed(const Workload& workload, int gpus, const ScheduleChoice& choice = {},
                  const Machine& machine = test_machine()) {
  return SimulatedExecutor().observe(schedule_of(workload, gpus, choice), machine);
}

const Track& track(const Timeline& timeline, const std::string& name, int gpu = 0) {
  const auto found =
      std::ranges::find_if(timeline.tracks, [&](const Track& one) { return one.name == name && one.gpu == gpu; });
  if (found == timeline.tracks.end()) throw std::runtime_error("no track " + name);
  return *found;
}

double most(const Track& track) {
  double most = 0;
  for (const TrackPoint& point : track.points) most = std::max(most, point.value);
  return most;
}

/// Of a value that counts per us.
double sum(const Track& track, double end_us) {
  double sum = 0;
  for (std::size_t i = 0; i < track.points.size(); ++i) {
    const double until_us = i + 1 < track.points.size() ? track.points[i + 1].at_us : end_us;
    sum += track.points[i].value * (until_us - track.points[i].at_us);
  }
  return sum;
}

double end_of(const Timeline& timeline) {
  double end_us = 0;
  for (const Span& span : timeline.trace.spans) end_us = std::max(end_us, span.end_us);
  return end_us;
}

TEST(Observer, ChangesNothingOfTheRun) {
  for (const ScheduleChoice& choice :
       {ScheduleChoice{.family = Decomposition{4}}, ScheduleChoice{.family = AsyncTp{}}}) {
    const Trace trace = SimulatedExecutor().run(schedule_of(pair, 4, choice), test_machine());
    const Timeline timeline = observed(pair, 4, choice);
    EXPECT_EQ(timeline.trace.time_us, trace.time_us);
    ASSERT_EQ(timeline.trace.spans.size(), trace.spans.size());
    for (std::size_t i = 0; i < trace.spans.size(); ++i) {
      EXPECT_EQ(timeline.trace.spans[i].start_us, trace.spans[i].start_us);
      EXPECT_EQ(timeline.trace.spans[i].end_us, trace.spans[i].end_us);
    }
  }
}

TEST(Observer, ACollectiveHoldsAsManySmsAsItHasCtas) {
  const Timeline timeline = observed(CollectiveWorkload{CollectiveKind::all_reduce, 1 << 26}, 4, {.max_ctas = 2});
  EXPECT_EQ(most(track(timeline, "SMs held by transfers", 3)), 2);
  EXPECT_EQ(most(track(timeline, "SMs busy", 3)), 2);
  EXPECT_EQ(track(timeline, "SMs busy").points.back().value, 0);
}

TEST(Observer, AGemmAloneHoldsNoSmForTransfersAndFillsTheGpu) {
  const Timeline timeline = observed(GemmWorkload{8192, 8192, 4096}, 1);
  EXPECT_EQ(most(track(timeline, "SMs busy")), test_machine().gpu.sms());
  EXPECT_EQ(most(track(timeline, "SMs held by transfers")), 0);
  EXPECT_GT(most(track(timeline, "HBM")), 0);
}

// 1 GB/s for 1 us is 1000 bytes.
TEST(Observer, TheLinksCarryTheBytesOfACopy) {
  constexpr Bytes bytes = 70'000'000;
  const Timeline timeline = observed(CopyWorkload{bytes, CopyPattern::one_peer}, 4);
  for (const std::string name : {"links in", "links out"})
    EXPECT_NEAR(sum(track(timeline, name, 2), end_of(timeline)) * 1e3, bytes, 1e-3 * bytes) << name;
  EXPECT_EQ(most(track(timeline, "copy engines", 2)), 1);
  EXPECT_EQ(most(track(timeline, "SMs busy", 2)), 0);
}

// Of eight equal ranks of a mesh one link is simulated: what is shown is that of all seven.
TEST(Observer, OneLinkOfAMeshStandsForAllOfThem) {
  Machine mesh = test_machine();
  mesh.fabric.kind = FabricKind::mesh;
  const Workload all_to_all = CollectiveWorkload{CollectiveKind::all_to_all, 1 << 26};
  const double on_switch = sum(track(observed(all_to_all, 8), "links out"), 1e6);
  const Timeline timeline = observed(all_to_all, 8, {}, mesh);
  EXPECT_NEAR(sum(track(timeline, "links out"), 1e6) / on_switch, 1, 0.01);
  EXPECT_NEAR(sum(track(timeline, "links in"), 1e6) / on_switch, 1, 0.01);
}

TEST(Observer, NoUnitDoesMoreThanItCan) {
  for (const ScheduleChoice& choice :
       {ScheduleChoice{}, ScheduleChoice{.family = Decomposition{4}}, ScheduleChoice{.family = AsyncTp{}}}) {
    const Timeline timeline = observed(pair, 4, choice);
    EXPECT_EQ(timeline.tracks.size(), 4u * 7u);
    for (const Track& one : timeline.tracks) {
      if (one.name == "power") continue;  // its limit holds for the mean
      EXPECT_LE(most(one), one.capacity * (1 + 1e-9)) << one.name;
      EXPECT_TRUE(std::ranges::is_sorted(one.points, {}, &TrackPoint::at_us)) << one.name;
    }
  }
}

TEST(Observer, ThePowerOfTheTrackIsThatOfTheTrace) {
  const Timeline timeline = observed(pair, 4, {.family = Decomposition{4}});
  const double mean_W = sum(track(timeline, "power"), timeline.trace.time_us) / timeline.trace.time_us;
  EXPECT_NEAR(mean_W, timeline.trace.power_W, 0.02 * timeline.trace.power_W);
}

TEST(PowerTrack, IsIdleWithoutWorkAndAddsUpWhatLastsTogether) {
  Power power;
  power.idle_W = 100;
  const Track track = power_track({{1, 3, 400}, {2, 4, 200}, {5, 5, 0}}, power);
  EXPECT_EQ(track.points, (std::vector<TrackPoint>{{0, 100}, {1, 300}, {2, 400}, {3, 200}, {4, 100}}));
}

}  // namespace observer_test
}  // namespace weft::sim
