#include "sim/fluid_pool.hpp"

#include <gmock/gmock.h>

#include <deque>
#include <random>

namespace weft::sim {
namespace fluid_pool_test {

using ::testing::DoubleEq;
using ::testing::ElementsAre;

constexpr double uncapped = 1e9;

struct Need {
  double cap = 0;
  Uses uses;
};

/// Transfers that start at given times, and when they ended.
class Transfers {
 public:
  Engine engine;
  FluidPool pool{engine};

  /// Returns a number by which `end_us` asks for it.
  std::size_t start_at(double time_us, double work, Need need) {
    transfers_.push_back({this, work, std::move(need), -1});
    engine.at(from_us(time_us), {begin, &transfers_.back()});
    return transfers_.size() - 1;
  }
  double end_us(std::size_t number) const { return transfers_[number].end_us; }

 private:
  struct Transfer {
    Transfers* all;
    double work;
    Need need;
    double end_us;
  };
  static void begin(void* context) {
    auto* transfer = static_cast<Transfer*>(context);
    FluidPool& pool = transfer->all->pool;
    pool.start(transfer->work, transfer->need.cap, pool.add_path(transfer->need.uses), {end, transfer});
  }
  static void end(void* context) {
    auto* transfer = static_cast<Transfer*>(context);
    transfer->end_us = to_us(transfer->all->engine.now());
  }
  std::deque<Transfer> transfers_;
};

// 1000 bytes at 100 bytes/us: 10 us.
TEST(FluidPool, LoneTransferTakesItsBytesOverItsRate) {
  Transfers transfers;
  const int link = transfers.pool.add_resource(100);
  const auto lone = transfers.start_at(0, 1000, {uncapped, {{link, 1}}});
  transfers.engine.run();
  EXPECT_DOUBLE_EQ(transfers.end_us(lone), 10);
}

TEST(FluidPool, CapHoldsALoneTransferBack) {
  Transfers transfers;
  const int link = transfers.pool.add_resource(100);
  const auto lone = transfers.start_at(0, 1000, {50, {{link, 1}}});
  transfers.engine.run();
  EXPECT_DOUBLE_EQ(transfers.end_us(lone), 20);
}

// 1000 bytes: 4 us at 50 bytes/us, then 800 bytes at 20 bytes/us.
TEST(FluidPool, NewCapHoldsFromThatInstantOn) {
  struct Slower {
    FluidPool* pool;
    FlowId flow;
  };
  Engine engine;
  FluidPool pool(engine);
  const int link = pool.add_resource(100);
  Slower slower{&pool, 0};
  slower.flow = pool.start(1000, 50, pool.add_path(Uses{{link, 1}}), {[](void*) {}, nullptr});
  engine.at(from_us(4), {[](void* context) {
                           const auto* change = static_cast<Slower*>(context);
                           change->pool->set_cap(change->flow, 20);
                         },
                         &slower});
  engine.run();
  EXPECT_DOUBLE_EQ(to_us(engine.now()), 4 + 800.0 / 20);
}

// Two of 1000 bytes: 4 us at 40 bytes/us each, then at half of the link's 100.
TEST(FluidPool, WhereCapsRiseAboveWhatThereIsItIsShared) {
  struct Faster {
    FluidPool* pool;
    FlowId flows[2];
  };
  Engine engine;
  FluidPool pool(engine);
  const PathId path = pool.add_path(Uses{{pool.add_resource(100), 1}});
  Faster faster{&pool, {}};
  for (FlowId& flow : faster.flows) flow = pool.start(1000, 40, path, {[](void*) {}, nullptr});
  engine.at(from_us(4), {[](void* context) {
                           const auto* change = static_cast<Faster*>(context);
                           for (const FlowId flow : change->flows) change->pool->set_cap(flow, 80);
                         },
                         &faster});
  engine.run();
  EXPECT_DOUBLE_EQ(to_us(engine.now()), 4 + (1000 - 160) / 50.0);
}

TEST(FluidPool, TwoEqualTransfersTakeTwiceAsLongTogether) {
  Transfers transfers;
  const int link = transfers.pool.add_resource(100);
  const auto first = transfers.start_at(0, 1000, {uncapped, {{link, 1}}});
  const auto second = transfers.start_at(0, 1000, {uncapped, {{link, 1}}});
  transfers.engine.run();
  EXPECT_DOUBLE_EQ(transfers.end_us(first), 20);
  EXPECT_DOUBLE_EQ(transfers.end_us(second), 20);
}

// The first moves 500 alone in 5 us, then 500 at half the rate in 10 us; the second then has 500 left: 5 us.
TEST(FluidPool, LateTransferSharesFromItsStartOn) {
  Transfers transfers;
  const int link = transfers.pool.add_resource(100);
  const auto first = transfers.start_at(0, 1000, {uncapped, {{link, 1}}});
  const auto second = transfers.start_at(5, 1000, {uncapped, {{link, 1}}});
  transfers.engine.run();
  EXPECT_DOUBLE_EQ(transfers.end_us(first), 15);
  EXPECT_DOUBLE_EQ(transfers.end_us(second), 20);
}

// 1 byte at 3 bytes/us is 333.33… ns.
TEST(FluidPool, EndsAreRoundedUpToWholeNanoseconds) {
  Transfers transfers;
  const int link = transfers.pool.add_resource(3);
  const auto lone = transfers.start_at(0, 1, {uncapped, {{link, 1}}});
  transfers.engine.run();
  EXPECT_DOUBLE_EQ(transfers.end_us(lone), 0.334);
}

// 0.3 + 0.3 + 0.3 bytes at 1/3 of a rate each are as long as 0.9 alone: rounding must not tear them apart.
TEST(FluidPool, SimultaneousEndsStaySimultaneous) {
  Transfers transfers;
  const int link = transfers.pool.add_resource(7);
  std::vector<std::size_t> equals;
  for (int i = 0; i < 9; ++i) equals.push_back(transfers.start_at(0.1, 0.7, {uncapped, {{link, 1}}}));
  transfers.start_at(0.15, 5, {uncapped, {{link, 1}}});
  transfers.engine.run();
  for (const auto equal : equals) EXPECT_DOUBLE_EQ(transfers.end_us(equal), transfers.end_us(equals.front()));
}

TEST(FluidPool, EqualSuccessorCostsNoPlan) {
  struct Waves {
    Engine engine;
    FluidPool pool{engine};
    PathId path = 0;
    int left = 100;
    static void next(void* context) {
      auto* waves = static_cast<Waves*>(context);
      if (waves->left-- > 0) waves->pool.start(50, uncapped, waves->path, {next, waves});
    }
  } waves;
  waves.path = waves.pool.add_path(Uses{{waves.pool.add_resource(10), 1}});
  Waves::next(&waves);
  waves.engine.run();
  EXPECT_EQ(waves.engine.now(), from_us(500));
  EXPECT_LE(waves.pool.plans(), 2u);  // the first start; nothing is left to plan at the end
}

// One engine and pool, links that share no flow: planned apart, with the times that each has alone.
TEST(FluidPool, FlowsThatShareNothingRunTogetherAsTheyRunApart) {
  const auto run = [](bool first, bool second) {
    Transfers transfers;
    const int a = transfers.pool.add_resource(30), b = transfers.pool.add_resource(70);
    std::vector<std::size_t> numbers;
    for (int i = 0; i < 10; ++i) {
      if (first) numbers.push_back(transfers.start_at(0.7 * i, 40, {uncapped, {{a, 1}}}));
      if (second) numbers.push_back(transfers.start_at(0.3 * i, 60, {uncapped, {{b, 2}}}));
    }
    transfers.engine.run();
    std::vector<double> ends;
    for (const auto number : numbers) ends.push_back(transfers.end_us(number));
    return ends;
  };
  const auto both = run(true, true), a = run(true, false), b = run(false, true);
  for (std::size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(both[2 * i], a[i]);
    EXPECT_EQ(both[2 * i + 1], b[i]);
  }
}

struct RandomLoad {
  Transfers transfers;
  std::vector<double> work;  // by resource
  std::vector<std::size_t> numbers;
};

void run_random_load(RandomLoad& load, unsigned seed) {
  std::mt19937 random(seed);
  const auto draw = [&](double least, double most) { return std::uniform_real_distribution(least, most)(random); };
  constexpr int resources = 6;
  for (int r = 0; r < resources; ++r) load.transfers.pool.add_resource(draw(10, 1000));
  load.work.assign(resources, 0);
  for (int i = 0; i < 200; ++i) {
    Need need{draw(1, 2000), {}};
    const double work = draw(1, 5000);
    for (int r = 0; r < resources; ++r) {
      if (draw(0, 1) < 0.6) continue;
      need.uses.push_back({r, draw(0.2, 2)});
      load.work[r] += work * need.uses.back().per_unit;
    }
    load.numbers.push_back(load.transfers.start_at(draw(0, 50), work, need));
  }
  load.transfers.engine.run();
}

TEST(FluidPool, RandomLoadsAreServedCompletely) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    RandomLoad load;
    run_random_load(load, seed);
    for (const auto number : load.numbers) EXPECT_GE(load.transfers.end_us(number), 0);
    for (int r = 0; r < static_cast<int>(load.work.size()); ++r)
      EXPECT_NEAR(load.transfers.pool.served(r), load.work[r], 1e-9 * load.work[r]);
  }
}

TEST(FluidPool, RandomLoadsNeverExceedACapacity) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    RandomLoad load;
    run_random_load(load, seed);
    EXPECT_LE(load.transfers.pool.peak_load(), 1 + 1e-9);
    const double end_us = to_us(load.transfers.engine.now());
    for (int r = 0; r < static_cast<int>(load.work.size()); ++r)
      EXPECT_GE(end_us, load.work[r] / load.transfers.pool.capacity(r) * (1 - 1e-9));
  }
}

TEST(FluidPool, RandomLoadsEndAtTheSameTimesOnRepeat) {
  RandomLoad first, second;
  run_random_load(first, 7);
  run_random_load(second, 7);
  for (const auto number : first.numbers) EXPECT_EQ(first.transfers.end_us(number), second.transfers.end_us(number));
}

/// Equal flows, each started as the one before ends.
struct FlowChain {
  FluidPool& pool;
  Engine& engine;
  double work, cap;
  PathId path;
  int left;
  std::vector<double> ends_us = {};
  static void go_on(void* context) {
    auto* chain = static_cast<FlowChain*>(context);
    chain->ends_us.push_back(to_us(chain->engine.now()));
    if (--chain->left > 0) chain->pool.start(chain->work, chain->cap, chain->path, {go_on, chain});
  }
  void start() { pool.start(work, cap, path, {go_on, this}); }
};

// Two chains of 10 us a flow on one link, in step, and a transfer that takes a third of the link from 25 us on, when
// the third flows of both have 250 bytes left: at 100/3 bytes/us they and all that follow need 3/2 as long.
TEST(FluidPool, EqualFlowsFollowOnEachOtherAtOneRateUntilAnotherComes) {
  Engine engine;
  FluidPool pool(engine);
  const PathId path = pool.add_path({{pool.add_resource(100), 1}});
  FlowChain one{pool, engine, 500, 50, path, 4}, other{pool, engine, 500, 50, path, 4};
  FlowChain late{pool, engine, 10000, 50, path, 1};
  one.start();
  other.start();
  engine.at(from_us(25), {[](void* chain) { static_cast<FlowChain*>(chain)->start(); }, &late});
  engine.run();
  EXPECT_THAT(one.ends_us, ElementsAre(DoubleEq(10), DoubleEq(20), DoubleEq(32.5), DoubleEq(47.5)));
  EXPECT_EQ(one.ends_us, other.ends_us);
  EXPECT_DOUBLE_EQ(pool.served(0), 2 * 4 * 500 + 10000);
}

/// The same, told only of ends that somebody else could see.
struct QuietFlowChain : FlowChain {
  static void go_on_quietly(void* context) {
    auto* chain = static_cast<QuietFlowChain*>(context);
    chain->left -=
        1 + static_cast<int>(chain->pool.start_and_end(chain->work, chain->cap, chain->path, chain->left - 2));
    chain->ends_us.push_back(to_us(chain->engine.now()));
    if (chain->left > 0) chain->pool.start(chain->work, chain->cap, chain->path, {go_on_quietly, chain});
  }
  void start() { pool.start(work, cap, path, {go_on_quietly, this}); }
};

// Beside a chain with flows of another length, and one that comes later and shares the link with them.
TEST(FluidPool, FlowsThatStartAndEndUnseenEndAsIfTheyWereTold) {
  const auto ends_us = [](auto chain_of) {
    Engine engine;
    FluidPool pool(engine);
    const PathId path = pool.add_path({{pool.add_resource(100), 1}});
    auto short_ones = chain_of(pool, engine, 333.3, 40.0, path, 100),
         long_ones = chain_of(pool, engine, 2000.0, 30.0, path, 20);
    auto late = chain_of(pool, engine, 700.0, 50.0, path, 9);
    short_ones.start();
    long_ones.start();
    engine.at(from_us(501), {[](void* chain) { static_cast<decltype(late)*>(chain)->start(); }, &late});
    engine.run();
    EXPECT_NEAR(pool.served(0), 100 * 333.3 + 20 * 2000 + 9 * 700, 1e-6);
    return std::tuple(short_ones.ends_us.back(), long_ones.ends_us.back(), late.ends_us.back(), engine.events(),
                      short_ones.ends_us.size() + long_ones.ends_us.size() + late.ends_us.size());
  };
  const auto told = ends_us([](auto&&... of) { return FlowChain{of...}; });
  const auto quiet = ends_us([](auto&&... of) { return QuietFlowChain{{of...}}; });
  EXPECT_EQ(std::get<0>(quiet), std::get<0>(told));
  EXPECT_EQ(std::get<1>(quiet), std::get<1>(told));
  EXPECT_EQ(std::get<2>(quiet), std::get<2>(told));
  EXPECT_EQ(std::get<3>(quiet), std::get<3>(told));
  EXPECT_LT(std::get<4>(quiet), std::get<4>(told));
}

TEST(FluidPool, NoWorkEndsInItsOwnInstant) {
  Transfers transfers;
  const int link = transfers.pool.add_resource(100);
  const auto nothing = transfers.start_at(3, 0, {uncapped, {{link, 1}}});
  transfers.engine.run();
  EXPECT_DOUBLE_EQ(transfers.end_us(nothing), 3);
}

TEST(FluidPool, TransferThroughAResourceOfNoCapacityNeverEndsButDoesNotHang) {
  Transfers transfers;
  const int broken = transfers.pool.add_resource(0), link = transfers.pool.add_resource(10);
  const auto stuck = transfers.start_at(0, 100, {uncapped, {{broken, 1}}});
  const auto other = transfers.start_at(0, 100, {uncapped, {{link, 1}}});
  transfers.engine.run();
  EXPECT_DOUBLE_EQ(transfers.end_us(stuck), -1);
  EXPECT_DOUBLE_EQ(transfers.end_us(other), 10);
}

}  // namespace fluid_pool_test
}  // namespace weft::sim
