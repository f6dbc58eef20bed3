#include "sim/collective_run.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <optional>

#include "tests/sim/test_machine.hpp"

namespace weft::sim {
namespace collective_run_test {

// 4 channels, 5 us until the first byte, then 1000 bytes in 20 us: 50 bytes/us.
constexpr CollectiveTiming timing{.latency_us = 5, .transfer_us = 20, .ctas = 4, .cluster = 1, .port_bytes = 1000};
constexpr CtaShape whole_sm{1024, 1, 1};

/// Somebody who holds SMs until a given time.
struct Holder : Grid {
  SmPool* pool = nullptr;
  std::vector<int> held;
  void on_placed(std::span<const int> sms) override { held.insert(held.end(), sms.begin(), sms.end()); }
};

/// One collective on GPUs of 4 SMs each, with links of their own that carry `link_rate` bytes/us.
struct TestRun {
  Engine engine;
  FluidPool pool{engine};
  SmLayout layout{test_gpu(1, 4)};
  SmPlacement placement{layout};
  std::deque<SmPool> sms;
  std::deque<Activity> activities;
  std::deque<Holder> holders;
  Transfers transfers;
  std::optional<CollectiveRun> collective;

  explicit TestRun(int ranks, double link_rate = 1e6, const CollectiveTiming& model = timing) {
    Uses uses;
    for (int rank = 0; rank < ranks; ++rank) {
      sms.emplace_back(engine, placement);
      uses.push_back({pool.add_resource(link_rate), 1});
    }
    activities.resize(static_cast<std::size_t>(ranks));
    transfers = {{model.port_bytes, model.transfer_us, pool.add_path(uses)}};
    collective.emplace(engine, pool, model, whole_sm, ranks, transfers);
  }
  void hold(int rank, int count, double until_us) {
    Holder& holder = holders.emplace_back();
    holder.cta = whole_sm;
    holder.unplaced = count;
    holder.pool = &sms[rank];
    sms[rank].submit(holder);
    engine.at(from_us(until_us), {[](void* context) {
                                    auto* leaving = static_cast<Holder*>(context);
                                    leaving->pool->release(*leaving, leaving->held);
                                  },
                                  &holder});
  }
  void arrive_at(int rank, double time_us) {
    arrivals_.push_back({this, rank});
    engine.at(from_us(time_us), {[](void* context) {
                                   const auto* arrival = static_cast<Arrival*>(context);
                                   TestRun& run = *arrival->run;
                                   run.collective->arrive(run.activities[arrival->rank], run.sms[arrival->rank]);
                                 },
                                 &arrivals_.back()});
  }
  void arrive_by_engine_at(int rank, double time_us) {
    arrivals_.push_back({this, rank});
    engine.at(from_us(time_us), {[](void* context) {
                                   const auto* arrival = static_cast<Arrival*>(context);
                                   TestRun& run = *arrival->run;
                                   run.collective->arrive(run.activities[arrival->rank]);
                                 },
                                 &arrivals_.back()});
  }
  /// All ranks at once; returns when rank 0's kernel ended.
  double run() {
    for (int rank = 0; rank < static_cast<int>(sms.size()); ++rank) arrive_at(rank, 0);
    engine.run();
    return to_us(activities[0].end.time());
  }

 private:
  struct Arrival {
    TestRun* run;
    int rank;
  };
  std::deque<Arrival> arrivals_;
};

TEST(CollectiveRun, AloneItTakesItsLatencyAndItsTransfer) {
  EXPECT_DOUBLE_EQ(TestRun(1).run(), 25);
  EXPECT_DOUBLE_EQ(TestRun(4).run(), 25);
}

TEST(CollectiveRun, NothingToMoveTakesItsLatency) {
  CollectiveTiming small = timing;
  small.transfer_us = 0;
  EXPECT_DOUBLE_EQ(TestRun(2, 1e6, small).run(), 5);
}

// All SMs are held for good; the second rank is there after 3 us.
TEST(CollectiveRun, ByCopyEnginesItNeedsNoSm) {
  CollectiveTiming by_engine = timing;
  by_engine.ctas = 0;
  TestRun run(2, 1e6, by_engine);
  run.hold(0, 4, 1000);
  run.collective->arrive(run.activities[0]);
  run.arrive_by_engine_at(1, 3);
  run.engine.run();
  EXPECT_DOUBLE_EQ(to_us(run.activities[0].end.time()), 3 + 5 + 20);
  EXPECT_TRUE(run.collective->has_ended());
}

// The link carries 25 bytes/us, half of what the channels could.
TEST(CollectiveRun, NarrowLinkSlowsIt) { EXPECT_DOUBLE_EQ(TestRun(2, 25).run(), 5 + 40); }

TEST(CollectiveRun, WideLinkDoesNotSpeedItUp) { EXPECT_DOUBLE_EQ(TestRun(2, 1e6).run(), TestRun(2, 50).run()); }

TEST(CollectiveRun, SlowedDownItTakesLonger) {
  TestRun run(2);
  run.collective->set_slowdown(2);
  EXPECT_DOUBLE_EQ(run.run(), 2 * (5 + 20));
}

// Of 5 us of latency at half the pace 2 us are over when it goes on at full pace, after 4 us.
TEST(CollectiveRun, ItsLatencyIsSlowedDownOnlyWhileTheSlowdownLasts) {
  TestRun run(2);
  run.collective->set_slowdown(2);
  run.engine.at(from_us(4),
                {[](void* context) { static_cast<CollectiveRun*>(context)->set_slowdown(1); }, &*run.collective});
  EXPECT_DOUBLE_EQ(run.run(), 4 + 3 + 20);
}

TEST(CollectiveRun, ASlowdownThatBeginsLaterSlowsWhatIsLeftOfItsLatency) {
  TestRun run(2);
  run.engine.at(from_us(1),
                {[](void* context) { static_cast<CollectiveRun*>(context)->set_slowdown(2); }, &*run.collective});
  EXPECT_DOUBLE_EQ(run.run(), 1 + 2 * 4 + 2 * 20);
}

// Two channels get their SMs at 12 us; they still have latency and transfer before them.
TEST(CollectiveRun, EndsWithItsSlowestChannel) {
  TestRun run(1);
  run.hold(0, 2, 12);
  EXPECT_DOUBLE_EQ(run.run(), 12 + 25);
}

TEST(CollectiveRun, ChannelNeedsItsCtaOnEveryRank) {
  TestRun run(3);
  run.hold(2, 4, 40);
  EXPECT_DOUBLE_EQ(run.run(), 40 + 25);
}

// With one SM kept for ever three channels run at once; the fourth follows on the first SM that they leave.
TEST(CollectiveRun, MissingSmMakesAChannelWaitForTheOthers) {
  TestRun run(1);
  run.hold(0, 1, 1e6);
  EXPECT_DOUBLE_EQ(run.run(), 25 + 25);
}

TEST(CollectiveRun, StartsWhenTheLastRankIsThere) {
  TestRun run(2);
  run.arrive_at(0, 0);
  run.arrive_at(1, 100);
  run.engine.run();
  EXPECT_DOUBLE_EQ(to_us(run.activities[0].first_cta_started.time()), 0);
  EXPECT_DOUBLE_EQ(to_us(run.activities[0].end.time()), 125);
  EXPECT_DOUBLE_EQ(to_us(run.activities[1].end.time()), 125);
}

TEST(CollectiveRun, HoldsItsSmsFromItsOwnDispatchToItsEnd) {
  TestRun run(2);
  run.arrive_at(0, 0);
  run.arrive_at(1, 100);
  while (run.engine.now() < from_us(100) && run.engine.step()) {
  }
  EXPECT_EQ(run.sms[0].busy_sms(), 4);
  run.engine.run();
  EXPECT_EQ(run.sms[0].busy_sms(), 0);
}

}  // namespace collective_run_test
}  // namespace weft::sim
