#include "sim/engine.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <deque>
#include <random>

namespace weft::sim {
namespace engine_test {

using ::testing::ElementsAre;

/// Schedules marks and notes the order in which they come out.
class Recorder {
 public:
  Engine engine;
  std::vector<int> order;
  std::vector<std::int64_t> times;

  void mark(int name, std::int64_t time, Phase phase = Phase::happen) {
    marks_.push_back({this, name});
    engine.at({time}, {note, &marks_.back()}, phase);
  }
  /// The settling of the instant that it is then is noted by this name.
  void mark_settling(int name, std::int64_t time) {
    marks_.push_back({this, name});
    engine.settle_by({note, &marks_.back()});
    engine.at({time}, waiter_for<&Engine::request_settling>(&engine));
  }

 private:
  struct Mark {
    Recorder* recorder;
    int name;
  };
  static void note(void* context) {
    const auto* mark = static_cast<Mark*>(context);
    mark->recorder->order.push_back(mark->name);
    mark->recorder->times.push_back(mark->recorder->engine.now().count);
  }
  std::deque<Mark> marks_;
};

/// Ends of flows, which the engine serves; they are noted by the numbers of their flows.
class Ends {
 public:
  explicit Ends(Recorder& recorder) : recorder_(recorder) {
    recorder.engine.serve(ends_, waiter_for<&Ends::note>(this));
  }
  Ends(const Ends&) = delete;
  void plan(int flow, std::int64_t time) { ends_.plan(flow, {{time}, recorder_.engine.take_place()}); }

 private:
  void note() {
    const int flow = ends_.first().flow;
    ends_.forget(flow);
    recorder_.order.push_back(flow);
    recorder_.times.push_back(recorder_.engine.now().count);
  }
  Recorder& recorder_;
  PlannedEnds ends_;
};

TEST(Engine, EndsLeaveAmongEventsAsIfTheyHadBeenScheduledWhenTheirPlacesWereTaken) {
  Recorder recorder;
  Ends ends(recorder);
  recorder.mark(1, 10);
  ends.plan(2, 10);
  recorder.mark(3, 10);
  recorder.mark(4, 20);
  ends.plan(5, 5);
  ends.plan(6, 30);
  recorder.engine.run();
  EXPECT_THAT(recorder.order, ElementsAre(5, 1, 2, 3, 4, 6));
  EXPECT_THAT(recorder.times, ElementsAre(5, 10, 10, 10, 20, 30));
}

TEST(Engine, EndsThatMoveComeAtTheirLastTimes) {
  Recorder recorder;
  Ends ends(recorder);
  ends.plan(1, 10);
  recorder.mark(2, 15);
  ends.plan(1, 20);
  recorder.engine.run();
  EXPECT_THAT(recorder.order, ElementsAre(2, 1));
}

TEST(Engine, AnEndComesBeforeWhatIsScheduledForNow) {
  Recorder recorder;
  Ends ends(recorder);
  recorder.engine.at({5}, {[](void* context) { static_cast<Recorder*>(context)->mark(2, 5); }, &recorder});
  ends.plan(1, 5);
  recorder.engine.run();
  EXPECT_THAT(recorder.order, ElementsAre(1, 2));
}

TEST(Engine, ServesEarlierEventsFirst) {
  Recorder recorder;
  recorder.mark(3, 30);
  recorder.mark(1, 10);
  recorder.mark(2, 20);
  recorder.engine.run();
  EXPECT_THAT(recorder.order, ElementsAre(1, 2, 3));
  EXPECT_THAT(recorder.times, ElementsAre(10, 20, 30));
}

TEST(Engine, ServesEventsOfOneTimeInTheOrderOfScheduling) {
  Recorder recorder;
  for (const int name : {4, 2, 7, 1}) recorder.mark(name, 5);
  recorder.engine.run();
  EXPECT_THAT(recorder.order, ElementsAre(4, 2, 7, 1));
}

TEST(Engine, ServesThePhasesOfOneInstantInTheirOrder) {
  Recorder recorder;
  recorder.mark_settling(3, 5);
  recorder.mark(2, 5, Phase::dispatch);
  recorder.mark(1, 5, Phase::happen);
  recorder.mark(4, 6, Phase::happen);
  recorder.engine.run();
  EXPECT_THAT(recorder.order, ElementsAre(1, 2, 3, 4));
}

TEST(Engine, WhatHappensNowComesBeforeTheSettlingOfNow) {
  Recorder recorder;
  recorder.mark_settling(9, 5);
  recorder.engine.at({5}, {[](void* context) { static_cast<Recorder*>(context)->mark(1, 5); }, &recorder});
  recorder.engine.run();
  EXPECT_THAT(recorder.order, ElementsAre(1, 9));
}

TEST(Engine, SortsThousandsOfRandomEvents) {
  std::mt19937 random(1);
  Recorder recorder;
  std::vector<std::pair<std::int64_t, int>> expected;
  for (int name = 0; name < 5000; ++name) {
    const std::int64_t time = std::uniform_int_distribution<std::int64_t>(0, 500)(random);
    expected.emplace_back(time, name);
    recorder.mark(name, time);
  }
  std::sort(expected.begin(), expected.end());  // by time, then by order of scheduling
  recorder.engine.run();
  ASSERT_EQ(recorder.order.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(recorder.times[i], expected[i].first);
    ASSERT_EQ(recorder.order[i], expected[i].second);
  }
}

TEST(Engine, SaysWhetherAnEventForNowWouldBeTheNextOne) {
  Recorder recorder;
  EXPECT_TRUE(recorder.engine.is_next());
  recorder.mark(1, 5);
  recorder.mark(2, 0, Phase::dispatch);
  EXPECT_TRUE(recorder.engine.is_next());  // before what is later, or of a later phase
  recorder.mark(3, 5);
  recorder.engine.step();
  recorder.engine.step();
  EXPECT_THAT(recorder.order, ElementsAre(2, 1));
  EXPECT_FALSE(recorder.engine.is_next());  // behind what was scheduled for this instant before it
  recorder.engine.step();
  recorder.mark(4, 5);
  EXPECT_FALSE(recorder.engine.is_next());  // behind what was scheduled in it
}

TEST(Engine, StopsWhenNothingIsLeft) {
  Recorder recorder;
  EXPECT_FALSE(recorder.engine.step());
  recorder.mark(1, 1);
  EXPECT_TRUE(recorder.engine.step());
  EXPECT_FALSE(recorder.engine.step());
}

/// A chain of events, each scheduled by the one before it.
struct Chain {
  Engine* engine = nullptr;
  std::int64_t step = 0;
  int left = 0;
  std::vector<std::int64_t> times;
  static void go_on(void* context) {
    auto* chain = static_cast<Chain*>(context);
    chain->times.push_back(chain->engine->now().count);
    if (--chain->left > 0) chain->engine->after({chain->step}, {go_on, chain});
  }
};

std::vector<std::vector<std::int64_t>> run_chains(const std::vector<std::int64_t>& steps) {
  Engine engine;
  std::vector<Chain> chains;
  for (const std::int64_t step : steps) chains.push_back({&engine, step, 100, {}});
  for (Chain& chain : chains) engine.at({0}, {Chain::go_on, &chain});
  engine.run();
  std::vector<std::vector<std::int64_t>> times;
  for (const Chain& chain : chains) times.push_back(chain.times);
  return times;
}

TEST(Engine, ProcessesThatShareNothingRunTogetherAsTheyRunApart) {
  const auto together = run_chains({3, 5, 7});
  EXPECT_EQ(together[0], run_chains({3})[0]);
  EXPECT_EQ(together[1], run_chains({5})[0]);
  EXPECT_EQ(together[2], run_chains({7})[0]);
}

TEST(Engine, ComesToNoTimeThatCouldWrap) {
  Recorder recorder;
  recorder.mark(1, end_of_time.count - 1);
  recorder.engine.run();
  EXPECT_THAT(recorder.order, ElementsAre(1));
  recorder.mark(2, end_of_time.count);
  EXPECT_THROW(recorder.engine.run(), InputError);
}

}  // namespace engine_test
}  // namespace weft::sim
