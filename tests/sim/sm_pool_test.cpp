#include "sim/sm_pool.hpp"

#include <gmock/gmock.h>

#include <deque>
#include <set>

#include "tests/sim/test_machine.hpp"

namespace weft::sim {
namespace sm_pool_test {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

constexpr CtaShape whole_sm{1024, 1, 1}, half_sm{512, 1, 1}, quarter_sm{1, 256, 1};

/// A kernel whose CTAs each run for the same time and then exit.
class TimedGrid : public Grid {
 public:
  TimedGrid(Engine& engine, SmPool& pool, int ctas, const CtaShape& shape, std::int64_t time)
      : engine_(engine), pool_(pool), time_(time) {
    cta = shape;
    unplaced = ctas;
  }
  void on_placed(std::span<const int> sms) override {
    start_times.insert(engine_.now().count);
    placed.insert(placed.end(), sms.begin(), sms.end());
    batches_.push_back({this, {sms.begin(), sms.end()}});
    engine_.after({time_}, {[](void* context) {
                              auto* batch = static_cast<Batch*>(context);
                              batch->grid->end = batch->grid->engine_.now().count;
                              batch->grid->pool_.release(*batch->grid, batch->sms);
                            },
                            &batches_.back()});
  }

  std::vector<int> placed;
  std::set<std::int64_t> start_times;
  std::int64_t end = -1;

 private:
  struct Batch {
    TimedGrid* grid;
    std::vector<int> sms;
  };
  Engine& engine_;
  SmPool& pool_;
  std::int64_t time_;
  std::deque<Batch> batches_;
};

struct Fixture : ::testing::Test {
  Engine engine;
  SmLayout layout{test_gpu(2, 4)};
  SmPlacement placement{layout};
  SmPool pool{engine, placement};

  TimedGrid grid(int ctas, const CtaShape& shape, std::int64_t time) { return {engine, pool, ctas, shape, time}; }
  /// At `time`; a grid submitted at once would come before those that wait for time to pass.
  void submit_at(std::int64_t time, TimedGrid& later) {
    submissions_.push_back({&pool, &later});
    engine.at({time}, {[](void* context) {
                         const auto* submission = static_cast<Submission*>(context);
                         submission->pool->submit(*submission->grid);
                       },
                       &submissions_.back()});
  }

 private:
  struct Submission {
    SmPool* pool;
    Grid* grid;
  };
  std::deque<Submission> submissions_;
};
using SmPoolTest = Fixture;

TEST_F(SmPoolTest, GridRunsInWavesOfSmsTimesOccupancy) {
  for (const auto& [shape, occupancy] : {std::pair{whole_sm, 1}, {half_sm, 2}, {quarter_sm, 4}})
    for (const int ctas : {1, 7, 8, 9, 33, 64}) {
      const std::int64_t begin = engine.now().count;
      TimedGrid kernel = grid(ctas, shape, 100);
      pool.submit(kernel);
      engine.run();
      const int at_once = 8 * occupancy;
      EXPECT_EQ(kernel.end - begin, 100 * ((ctas + at_once - 1) / at_once))
          << ctas << " CTAs, " << occupancy << " an SM";
    }
}

TEST_F(SmPoolTest, CtasSpreadOverEmptySmsBeforeTheyShareOne) {
  TimedGrid first = grid(4, quarter_sm, 100), second = grid(6, quarter_sm, 100);
  pool.submit(first);
  pool.submit(second);
  while (engine.now().count < 50 && engine.step()) {
    if (second.placed.size() == 6) break;
  }
  EXPECT_EQ(pool.busy_sms(), 8);
  EXPECT_THAT(first.placed, ElementsAre(0, 4, 1, 5));  // one to each GPC in turn
  EXPECT_THAT(second.placed, ElementsAre(2, 6, 3, 7, 0, 4));
  engine.run();
  EXPECT_EQ(pool.busy_sms(), 0);
}

TEST_F(SmPoolTest, EqualPriorityIsServedInTheOrderOfArrival) {
  TimedGrid running = grid(8, whole_sm, 100), first = grid(8, whole_sm, 100), second = grid(8, whole_sm, 100);
  for (TimedGrid* kernel : {&running, &first, &second}) pool.submit(*kernel);
  engine.run();
  EXPECT_THAT(first.start_times, ElementsAre(100));
  EXPECT_THAT(second.start_times, ElementsAre(200));
}

TEST_F(SmPoolTest, UrgentGridEntersWhereCtasExitAndTakesNothingAway) {
  TimedGrid running = grid(24, whole_sm, 100), urgent = grid(3, whole_sm, 100);
  urgent.priority = -5;
  pool.submit(running);
  submit_at(150, urgent);  // in the middle of the second of three waves
  engine.run();
  EXPECT_THAT(urgent.start_times, ElementsAre(200));
  EXPECT_EQ(running.end, 400);  // the third wave has 5 SMs for 8 CTAs
}

TEST_F(SmPoolTest, GridThatDoesNotFitHoldsBackThoseBehind) {
  TimedGrid running = grid(8, half_sm, 100), large = grid(8, whole_sm, 100), small = grid(8, half_sm, 100);
  for (TimedGrid* kernel : {&running, &large, &small}) pool.submit(*kernel);
  engine.run();
  EXPECT_THAT(large.start_times, ElementsAre(100));
  EXPECT_THAT(small.start_times, ElementsAre(200));  // it would have fitted at 0
}

TEST_F(SmPoolTest, GridAtItsOwnLimitDoesNotHoldBackThoseBehind) {
  TimedGrid limited = grid(8, whole_sm, 100), other = grid(4, whole_sm, 100);
  limited.most_sms = 4;
  pool.submit(limited);
  pool.submit(other);
  engine.run();
  EXPECT_THAT(limited.start_times, ElementsAre(0, 100));
  EXPECT_THAT(other.start_times, ElementsAre(0));
}

// With two of four SMs of each GPC taken, four are free, but no cluster of 4 has a GPC.
TEST_F(SmPoolTest, ClusterNeedsRoomInOneGpc) {
  TimedGrid pairs = grid(4, whole_sm, 100), cluster = grid(4, whole_sm, 100);
  pairs.cluster = 2;
  TimedGrid filler = grid(2, whole_sm, 50);  // takes SMs 0 and 4
  pool.submit(filler);
  pool.submit(pairs);
  cluster.cluster = 4;
  submit_at(60, cluster);
  engine.run();
  EXPECT_THAT(pairs.placed, ElementsAre(1, 2, 5, 6));
  EXPECT_THAT(cluster.start_times, ElementsAre(100));
}

TEST_F(SmPoolTest, ClustersLieInsideGpcs) {
  TimedGrid kernel = grid(6, whole_sm, 100);
  kernel.cluster = 3;
  pool.submit(kernel);
  engine.run();
  EXPECT_THAT(kernel.placed, ElementsAre(0, 1, 2, 4, 5, 6));
}

TEST_F(SmPoolTest, AsManyClustersFitAsCapacitySays) {
  SmLayout odd_layout{test_gpu(1, 5)};
  SmPlacement odd_placement(odd_layout);
  SmPool odd(engine, odd_placement);  // 5 SMs x 2 CTAs = 5 clusters of 2
  TimedGrid kernel(engine, odd, 10, half_sm, 100);
  kernel.cluster = 2;
  odd.submit(kernel);
  engine.run();
  EXPECT_EQ(odd_layout.capacity(half_sm, 2), 10);
  EXPECT_THAT(kernel.start_times, ElementsAre(0));
}

TEST_F(SmPoolTest, SmsOfAGridStayAsTheyAreWhileItsCtasAreResident) {
  struct Keeper : Grid {
    std::span<const int> sms;
    void on_placed(std::span<const int> placed) override { sms = placed; }
  } keeper;
  keeper.cta = whole_sm;
  keeper.unplaced = 3;
  pool.submit(keeper);
  engine.run();
  const std::vector<int> sms{keeper.sms.begin(), keeper.sms.end()};
  SmPool other(engine, placement);  // asks for as many of other shapes, more than answers are kept of
  for (int registers = 1; registers <= 20; ++registers) {
    TimedGrid passing(engine, other, 3, {1, registers, 1}, 100);
    other.submit(passing);
    engine.run();
  }
  EXPECT_THAT(keeper.sms, ElementsAreArray(sms));
}

TEST_F(SmPoolTest, WithdrawnGridNoLongerHoldsBackThoseBehind) {
  TimedGrid running = grid(4, whole_sm, 100), large = grid(4, whole_sm, 100), small = grid(2, whole_sm, 100);
  TimedGrid filler = grid(2, whole_sm, 100);
  large.cluster = 4;  // SMs 6 and 7 are free, which is no room for it
  for (TimedGrid* kernel : {&running, &filler, &large, &small}) pool.submit(*kernel);
  struct Withdrawal {
    SmPool* pool;
    Grid* grid;
  } withdrawal{&pool, &large};
  engine.at({30}, {[](void* context) {
                     const auto* gone = static_cast<Withdrawal*>(context);
                     gone->pool->withdraw(*gone->grid);
                   },
                   &withdrawal});
  engine.run();
  EXPECT_TRUE(large.placed.empty());
  EXPECT_THAT(small.start_times, ElementsAre(30));
}

}  // namespace sm_pool_test
}  // namespace weft::sim
