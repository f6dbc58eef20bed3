#include "sim/tiled_kernel.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <memory>

#include "tests/sim/test_machine.hpp"

namespace weft::sim {
namespace tiled_kernel_test {

constexpr CtaShape whole_sm{1024, 1, 1};
constexpr double tile_us = 10;

/// One GPU of 132 SMs where nothing is ever short, so that a tile takes exactly tile_us.
struct Gpu132 {
  Engine engine;
  SmLayout layout{test_gpu(11, 12)};
  SmPlacement placement{layout};
  SmPool sms{engine, placement};
  FluidPool pool{engine};
  int memory = pool.add_resource(1e9);

  /// Somebody who keeps `count` SMs for the whole time.
  void hold(int count) {
    holder_.cta = whole_sm;
    holder_.unplaced = count;
    sms.submit(holder_);
    engine.run();
  }
  void happen_at(double time_us, Occurrence& occurrence) {
    happenings_.push_back({&engine, &occurrence});
    engine.at(from_us(time_us), {[](void* context) {
                                   const auto* happening = static_cast<Happening*>(context);
                                   happening->occurrence->happen(*happening->engine);
                                 },
                                 &happenings_.back()});
  }

 private:
  struct Happening {
    Engine* engine;
    Occurrence* occurrence;
  };
  std::deque<Happening> happenings_;
  struct Holder : Grid {
    void on_placed(std::span<const int>) override {}
  } holder_;
};

/// A GEMM in execution on that GPU.
struct Kernel {
  Operation operation;
  Activity activity;
  std::deque<Occurrence> counters;  // those that the GEMM's tile waits wait for
  TiledKernel tiled;

  Kernel(Gpu132& gpu, const Gemm& gemm, TiledWork work, int priority = 0)
      : operation{"gemm", 0, {}, gemm},
        counters(gemm.waits.size()),
        tiled(gpu.engine, gpu.sms, gpu.pool, std::move(work), tile_groups(operation.work)) {
    tiled.cta = whole_sm;
    tiled.priority = priority;
    tiled.start(prepared(gemm));
  }
  double end_in_waves() const { return to_us(activity.end.time()) / tile_us; }
  double group_end_in_waves(std::size_t group) const { return to_us(activity.tile_groups[group].time()) / tile_us; }

 private:
  Activity& prepared(const Gemm& gemm) {
    activity.operation = &operation;
    activity.tile_groups.resize(std::max<std::size_t>(1, gemm.tile_groups.size()));
    for (Occurrence& counter : counters) activity.tile_waits.push_back(&counter);
    if (ranks_meet(gemm)) activity.meeting = std::make_unique<RankMeeting>();
    return activity;
  }
};

TiledWork tiles_of(const Gpu132& gpu, TileScheduler scheduler, std::int64_t tiles) {
  return {.scheduler = scheduler,
          .tiles = tiles,
          .ctas = gpu.layout.sms(),
          .tile_us = tile_us,
          .bytes_per_tile = 1000,
          .uses = {{gpu.memory, 1}}};
}

double waves(TileScheduler scheduler, std::int64_t tiles, int held_sms) {
  Gpu132 gpu;
  gpu.hold(held_sms);
  Kernel kernel(gpu, {}, tiles_of(gpu, scheduler, tiles));
  gpu.engine.run();
  EXPECT_TRUE(kernel.activity.end.has_happened());
  EXPECT_EQ(gpu.sms.busy_sms(), held_sms);
  return kernel.end_in_waves();
}

// ceil(4096 / 132) = 32 with all SMs, ceil(4096 / 116) = 36 with 16 of them held.
TEST(TiledKernel, HeldSmsCostAGridAFewWaves) {
  EXPECT_DOUBLE_EQ(waves(TileScheduler::grid, 4096, 0), 32);
  EXPECT_DOUBLE_EQ(waves(TileScheduler::grid, 4096, 16), 36);
}

TEST(TiledKernel, HeldSmsCostADynamicPersistentKernelAFewWaves) {
  EXPECT_DOUBLE_EQ(waves(TileScheduler::dynamic_persistent, 4096, 0), 32);
  EXPECT_DOUBLE_EQ(waves(TileScheduler::dynamic_persistent, 4096, 16), 36);
}

// 4096 tiles on 132 CTAs: CTAs 0 to 3 have 32 tiles, the others 31. The 16 CTAs that find no SM start when the first of
// those with 31 tiles leave, and have 31 tiles themselves.
TEST(TiledKernel, HeldSmsDoubleTheTimeOfAStaticPersistentKernel) {
  EXPECT_DOUBLE_EQ(waves(TileScheduler::static_persistent, 4096, 0), 32);
  EXPECT_DOUBLE_EQ(waves(TileScheduler::static_persistent, 4096, 16), 31 + 31);
}

// 4096 / 132: the last wave has 4 tiles, which stream-K spreads over all SMs.
TEST(TiledKernel, StreamKHasNoLastPartialWave) {
  EXPECT_NEAR(waves(TileScheduler::stream_k, 4096, 0), 4096.0 / 132, 1e-3);
  EXPECT_NEAR(waves(TileScheduler::stream_k, 4096, 16), 4096.0 / 116, 1e-3);
}

// A kernel that says how it cuts them: 0.6 tiles rather than 4 / 132.
TEST(TiledKernel, ALastWaveTakesWhatItsSlicesTake) {
  Gpu132 gpu;
  TiledWork work = tiles_of(gpu, TileScheduler::stream_k, 4096);
  work.last_wave = 0.6;
  EXPECT_DOUBLE_EQ(work.waves(), 31.6);
  Kernel kernel(gpu, {}, std::move(work));
  gpu.engine.run();
  EXPECT_NEAR(kernel.end_in_waves(), 31.6, 1e-6);
}

// Of 132 + 8 tiles the last 4 wait for a counter, and so do all slices of the last wave.
TEST(TiledKernel, ALastWaveStartsWhenAllOfItsTilesMay) {
  Gpu132 gpu;
  Gemm gemm;
  gemm.tile_groups = {136, 4};
  gemm.waits = {{.tile_group = 1, .counter = 0}};
  TiledWork work = tiles_of(gpu, TileScheduler::stream_k, 140);
  work.last_wave = 0.5;
  Kernel kernel(gpu, gemm, std::move(work));
  gpu.happen_at(3 * tile_us, kernel.counters[0]);
  gpu.engine.run();
  EXPECT_NEAR(kernel.end_in_waves(), 3.5, 1e-6);
}

/// Over a link on which the tiles of a wave of 132 leave in `store_us`.
TileStores stored_in(double store_us, std::int64_t tiles, Gpu132& gpu) {
  constexpr double bytes = 1000;
  return {.tiles = tiles, .bytes_per_tile = bytes, .uses = {{gpu.pool.add_resource(132 * bytes / store_us), 1}}};
}

double waves_with_stores(TileScheduler scheduler, std::int64_t tiles, double store_us) {
  Gpu132 gpu;
  TiledWork work = tiles_of(gpu, scheduler, tiles);
  work.stores = {stored_in(store_us, work.tiles, gpu)};
  Kernel kernel(gpu, {}, std::move(work));
  gpu.engine.run();
  EXPECT_EQ(gpu.sms.busy_sms(), 0);
  return kernel.end_in_waves();
}

// Those of all waves but the last leave while the next is computed.
TEST(TiledKernel, StoresOnPeersEndAfterTheLastWave) {
  for (const TileScheduler scheduler :
       {TileScheduler::static_persistent, TileScheduler::dynamic_persistent, TileScheduler::stream_k}) {
    EXPECT_NEAR(waves_with_stores(scheduler, 4 * 132, tile_us / 2), 4.5, 1e-6) << name_of(scheduler);
    EXPECT_NEAR(waves_with_stores(scheduler, 132, tile_us / 2), 1.5, 1e-6) << name_of(scheduler);
  }
}

// Where they take longer than a wave a CTA waits until its last tile has left.
TEST(TiledKernel, SlowStoresHoldUpTheNextTile) {
  for (const TileScheduler scheduler : {TileScheduler::static_persistent, TileScheduler::dynamic_persistent})
    EXPECT_NEAR(waves_with_stores(scheduler, 4 * 132, 1.5 * tile_us), 1 + 4 * 1.5, 1e-6) << name_of(scheduler);
}

// 132 x 1000 bytes in half a wave are 26.4 GB/s: at half of that stores take a wave.
TEST(TiledKernel, StoresHaveARateOfTheirOwn) {
  Gpu132 gpu;
  TiledWork work = tiles_of(gpu, TileScheduler::static_persistent, 132);
  work.stores = {stored_in(1e-6, 132, gpu)};
  work.store_GBps = 13.2;
  Kernel kernel(gpu, {}, std::move(work));
  gpu.engine.run();
  EXPECT_NEAR(kernel.end_in_waves(), 2, 1e-6);
}

// Of the 132 tiles of a wave 66 go to one GPU, half a wave for 66 by its link, and 66 to three others, a wave.
TEST(TiledKernel, TilesOfOneWaveThatGoToDifferentGpusTakeDifferentWays) {
  const auto end_in_waves = [](double store_GBps) {
    Gpu132 gpu;
    TiledWork work = tiles_of(gpu, TileScheduler::static_persistent, 132);
    work.stores = {stored_in(tile_us, 66, gpu), stored_in(2 * tile_us, 66, gpu)};
    work.stores.back().copies = 3;
    work.store_GBps = store_GBps;
    Kernel kernel(gpu, {}, std::move(work));
    gpu.engine.run();
    return kernel.end_in_waves();
  };
  EXPECT_NEAR(end_in_waves(0), 2, 1e-6);
  // 66 x 1000 x (1 + 3) bytes of all copies, in two waves.
  EXPECT_NEAR(end_in_waves(66 * 4 * 1000 / (2 * tile_us) * 1e-3), 3, 1e-6);
}

TEST(TiledKernel, OnlyTheFirstTileOfACtaWaitsForItToStart) {
  Gpu132 gpu;
  TiledWork work = tiles_of(gpu, TileScheduler::static_persistent, 3 * 132);
  work.start_us = tile_us / 2;
  Kernel kernel(gpu, {}, std::move(work));
  gpu.engine.run();
  EXPECT_NEAR(kernel.end_in_waves(), 3 + 0.5, 1e-6);
}

TEST(TiledKernel, StoresSlowDownTheNextWave) {
  Gpu132 gpu;
  TiledWork work = tiles_of(gpu, TileScheduler::static_persistent, 3 * 132);
  work.stores = {stored_in(tile_us / 4, work.tiles, gpu)};
  work.stores.front().hold_us = tile_us / 10;
  Kernel kernel(gpu, {}, std::move(work));
  gpu.engine.run();
  EXPECT_NEAR(kernel.end_in_waves(), 3 + 0.1 + 0.1 / 2 + 0.25, 1e-6);
}

TEST(TiledKernel, TilesThatAddTakeLonger) {
  Gpu132 gpu;
  TiledWork work = tiles_of(gpu, TileScheduler::static_persistent, 3 * 132);
  work.stores = {stored_in(tile_us / 4, 132, gpu), {.tiles = 2 * 132, .uses = {}, .addend_us = tile_us / 10}};
  Kernel kernel(gpu, {}, std::move(work));
  gpu.engine.run();
  EXPECT_NEAR(kernel.end_in_waves(), 3 + 2 * 0.1, 1e-6);
}

TEST(TiledKernel, OfAGridHoldsItsSmsUntilItsTilesAreStored) {
  EXPECT_NEAR(waves_with_stores(TileScheduler::grid, 4 * 132, tile_us / 2), 4 * 1.5, 1e-6);
}

TEST(TiledKernel, TileGroupsEndWhenTheirTilesAreStored) {
  Gpu132 gpu;
  TiledWork work = tiles_of(gpu, TileScheduler::static_persistent, 2 * 132);
  work.stores = {stored_in(tile_us / 4, work.tiles, gpu)};
  Gemm gemm;
  gemm.tile_groups = {132, 132};
  Kernel kernel(gpu, gemm, std::move(work));
  gpu.engine.run();
  EXPECT_NEAR(kernel.group_end_in_waves(0), 1.25, 1e-6);
  EXPECT_NEAR(kernel.group_end_in_waves(1), 2.25, 1e-6);
}

// Of two waves the first leaves, and is known to have come a tenth of a wave later; the second stays.
TEST(TiledKernel, TilesOfABlockThatStaysEndWithTheirWave) {
  Gpu132 gpu;
  TiledWork work = tiles_of(gpu, TileScheduler::static_persistent, 2 * 132);
  work.stores = {stored_in(tile_us / 4, 132, gpu), {.tiles = 132, .uses = {}}};
  work.stores.front().latency_us = tile_us / 10;
  Gemm gemm;
  gemm.tile_groups = {132, 132};
  Kernel kernel(gpu, gemm, std::move(work));
  gpu.engine.run();
  EXPECT_NEAR(kernel.group_end_in_waves(0), 1.35, 1e-6);
  EXPECT_NEAR(kernel.group_end_in_waves(1), 2, 1e-6);
}

// The first wave has its products after 10 us, and nowhere to put them before all ranks have begun at 25 us.
TEST(TiledKernel, NothingIsStoredBeforeAllRanksHaveBegun) {
  Gpu132 gpu;
  Kernel kernel(gpu, {.meets = PeerMeeting::begin}, tiles_of(gpu, TileScheduler::static_persistent, 3 * 132));
  gpu.happen_at(25, kernel.activity.meeting->all_began);
  gpu.engine.run();
  EXPECT_DOUBLE_EQ(to_us(kernel.activity.meeting->all_stored.time()), 25 + 2 * tile_us);
}

/// Two waves, the rows of the second of which come in `fetch_us`, after 2 us, once all ranks have begun at 1 us. Its
/// tiles start when a share of these has come, and end as large a share of their time after the last have.
double end_with_fetched_rows(double fetch_us, double share = 1, double hold_us = 0) {
  Gpu132 gpu;
  constexpr double bytes = 1e6;
  TiledWork work = tiles_of(gpu, TileScheduler::static_persistent, 2 * 132);
  work.fetches = {{.first_tile = 132,
                   .bytes = bytes,
                   .first_bytes = share * bytes,
                   .share_after_last = share < 1 ? share : 0,
                   .uses = {{gpu.pool.add_resource(bytes / fetch_us), 1}}}};
  work.fetch_latency_us = 2;
  work.fetch_hold_us = hold_us;
  Kernel kernel(gpu, {.meets = PeerMeeting::begin_and_end}, std::move(work));
  gpu.happen_at(1, kernel.activity.meeting->all_began);
  gpu.engine.run();
  return to_us(kernel.activity.meeting->all_stored.time());
}

TEST(TiledKernel, TilesWhoseRowsAreThereRunWhileOthersAreFetched) {
  EXPECT_NEAR(end_with_fetched_rows(tile_us / 2), 2 * tile_us, 1e-6);
  EXPECT_NEAR(end_with_fetched_rows(1.5 * tile_us), 1 + 2 + 1.5 * tile_us + tile_us, 1e-6);
}

TEST(TiledKernel, TilesMultiplyWhatHasComeOfTheirRows) {
  EXPECT_NEAR(end_with_fetched_rows(1.2 * tile_us, 0.25), 2 * tile_us, 1e-6);
  EXPECT_NEAR(end_with_fetched_rows(3 * tile_us, 0.25), 1 + 2 + 3 * tile_us + 0.25 * tile_us, 1e-6);
}

TEST(TiledKernel, TilesThatStartWhileRowsAreFetchedTakeLonger) {
  EXPECT_NEAR(end_with_fetched_rows(tile_us / 2, 1, 3), 2 * tile_us + 3, 1e-6);
  EXPECT_NEAR(end_with_fetched_rows(2 * tile_us, 0.25, 3), 2 * (tile_us + 3), 1e-6);
}

// Of three bands that take 12 us each, each but the first comes after the wave before it has ended.
TEST(TiledKernel, RowsAreFetchedOneBandAfterTheOther) {
  Gpu132 gpu;
  TiledWork work = tiles_of(gpu, TileScheduler::static_persistent, 3 * 132);
  const int link = gpu.pool.add_resource(1e6);
  for (const std::int64_t first : {0, 132, 264})
    work.fetches.push_back({.first_tile = first, .bytes = 12e6, .first_bytes = 12e6, .uses = {{link, 1}}});
  Kernel kernel(gpu, {.meets = PeerMeeting::begin_and_end}, std::move(work));
  gpu.happen_at(0, kernel.activity.meeting->all_began);
  gpu.engine.run();
  EXPECT_NEAR(to_us(kernel.activity.meeting->all_stored.time()), 3 * 12 + tile_us, 1e-6);
}

TEST(TiledKernel, FewTilesTakeOneWave) {
  for (const TileScheduler scheduler :
       {TileScheduler::grid, TileScheduler::static_persistent, TileScheduler::dynamic_persistent})
    EXPECT_DOUBLE_EQ(waves(scheduler, 5, 0), 1) << name_of(scheduler);
}

// 300 tiles on 132 SMs: groups of 100 are complete with waves 1, 2 and 3.
// Two waves, whose last tiles are known to be done half a wave later: the kernel waits for those that it tells of.
TEST(TiledKernel, EndsNoSoonerThanItHasToldOfItsGroups) {
  for (const int told : {0, 1}) {
    Gpu132 gpu;
    Gemm gemm;
    gemm.tile_groups = {132, 132};
    gemm.signals = {{.tile_group = told, .counter = 0}};
    TiledWork work = tiles_of(gpu, TileScheduler::static_persistent, 2 * 132);
    work.signal_us = tile_us / 2;
    Kernel kernel(gpu, gemm, std::move(work));
    gpu.engine.run();
    EXPECT_NEAR(kernel.group_end_in_waves(0), told == 0 ? 1.5 : 1, 1e-6);
    EXPECT_NEAR(kernel.group_end_in_waves(1), told == 0 ? 2 : 2.5, 1e-6);
    EXPECT_NEAR(kernel.end_in_waves(), told == 0 ? 2 : 2.5, 1e-6);
  }
}

TEST(TiledKernel, TileGroupsEndWithTheWaveOfTheirLastTile) {
  for (const auto& [scheduler, name] : NamesOf<TileScheduler>::names) {
    Gpu132 gpu;
    Gemm gemm;
    gemm.tile_groups = {100, 100, 100};
    Kernel kernel(gpu, gemm, tiles_of(gpu, scheduler, 300));
    gpu.engine.run();
    EXPECT_DOUBLE_EQ(kernel.group_end_in_waves(0), 1) << name;
    EXPECT_DOUBLE_EQ(kernel.group_end_in_waves(1), 2) << name;
    const double last_wave = scheduler == TileScheduler::stream_k ? 36.0 / 132 : 1;  // of 36 tiles
    EXPECT_NEAR(kernel.group_end_in_waves(2), 2 + last_wave, 1e-3) << name;
  }
}

// The last tile of a wave comes a tail after the mean; the kernel ends an epilogue later.
TEST(TiledKernel, SpreadDelaysGroupsAndTheEndButNotTheNextWave) {
  Gpu132 gpu;
  Gemm gemm;
  gemm.tile_groups = {132, 132};
  TiledWork work = tiles_of(gpu, TileScheduler::grid, 264);
  work.tail_us = 2;
  work.epilogue_us = 3;
  Kernel kernel(gpu, gemm, work);
  gpu.engine.run();
  EXPECT_DOUBLE_EQ(to_us(kernel.activity.tile_groups[0].time()), 10 + 2);
  EXPECT_DOUBLE_EQ(to_us(kernel.activity.tile_groups[1].time()), 20 + 2);
  EXPECT_DOUBLE_EQ(to_us(kernel.activity.end.time()), 20 + 2 + 3);
}

// Tiles 132 … 263 may start at 47 us: the second wave does, and the third follows it.
TEST(TiledKernel, TilesWaitForTheirCounter) {
  for (const TileScheduler scheduler :
       {TileScheduler::grid, TileScheduler::static_persistent, TileScheduler::dynamic_persistent}) {
    Gpu132 gpu;
    Gemm gemm;
    gemm.tile_groups = {132, 132, 132};
    gemm.waits = {{.tile_group = 1}};
    Kernel kernel(gpu, gemm, tiles_of(gpu, scheduler, 396));
    gpu.happen_at(47, kernel.counters[0]);
    gpu.engine.run();
    EXPECT_DOUBLE_EQ(to_us(kernel.activity.tile_groups[0].time()), 10) << name_of(scheduler);
    EXPECT_DOUBLE_EQ(to_us(kernel.activity.tile_groups[1].time()), 57) << name_of(scheduler);
    EXPECT_DOUBLE_EQ(to_us(kernel.activity.end.time()), 67) << name_of(scheduler);
  }
}

TEST(TiledKernel, GroupWithTwoCountersWaitsForBoth) {
  Gpu132 gpu;
  Gemm gemm;
  gemm.tile_groups = {132};
  gemm.waits = {{.tile_group = 0}, {.tile_group = 0}};
  Kernel kernel(gpu, gemm, tiles_of(gpu, TileScheduler::grid, 132));
  gpu.happen_at(40, kernel.counters[0]);
  gpu.happen_at(30, kernel.counters[1]);
  gpu.engine.run();
  EXPECT_DOUBLE_EQ(to_us(kernel.activity.end.time()), 50);
}

TEST(TiledKernel, TilesOfAReleasedGroupRunWhileTheNextOneWaits) {
  for (const TileScheduler scheduler :
       {TileScheduler::static_persistent, TileScheduler::dynamic_persistent, TileScheduler::stream_k}) {
    Gpu132 gpu;
    Gemm gemm;
    gemm.tile_groups = {100, 32};
    gemm.waits = {{.tile_group = 1}};
    Kernel kernel(gpu, gemm, tiles_of(gpu, scheduler, 132));
    gpu.happen_at(5, kernel.counters[0]);
    gpu.engine.run();
    EXPECT_DOUBLE_EQ(to_us(kernel.activity.tile_groups[0].time()), 10) << name_of(scheduler);
    EXPECT_DOUBLE_EQ(to_us(kernel.activity.tile_groups[1].time()), 15) << name_of(scheduler);
  }
}

/// An urgent kernel of 16 CTAs that arrives in the second of four waves: when its first CTA starts, in waves.
double start_of_urgent_kernel(TileScheduler scheduler) {
  Gpu132 gpu;
  Kernel gemm(gpu, {}, tiles_of(gpu, scheduler, 3 * 132 + 50));
  gpu.engine.at(from_us(15), {[](void*) {}});
  while (gpu.engine.now() < from_us(15) && gpu.engine.step()) {
  }
  Kernel urgent(gpu, {}, tiles_of(gpu, TileScheduler::grid, 16), -5);
  gpu.engine.run();
  return to_us(urgent.activity.first_cta_started.time()) / tile_us;
}

// CTAs of a grid exit tile by tile, those of a persistent kernel when no tile is left for them: in the last wave.
TEST(TiledKernel, UrgentKernelEntersAGridAtAWaveBoundary) {
  EXPECT_DOUBLE_EQ(start_of_urgent_kernel(TileScheduler::grid), 2);
}
TEST(TiledKernel, UrgentKernelEntersAPersistentKernelOnlyInItsTail) {
  EXPECT_DOUBLE_EQ(start_of_urgent_kernel(TileScheduler::dynamic_persistent), 3);
  EXPECT_DOUBLE_EQ(start_of_urgent_kernel(TileScheduler::static_persistent), 3);
}

}  // namespace tiled_kernel_test
}  // namespace weft::sim
