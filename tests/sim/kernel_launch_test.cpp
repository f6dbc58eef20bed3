#include "sim/kernel_launch.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "models/base/input_error.hpp"
#include "models/schedule/fetch_order.hpp"
#include "models/schedule/layout.hpp"
#include "models/schedule/own_kernels.hpp"
#include "tests/models/error_of.hpp"
#include "tests/sim/launched.hpp"

namespace weft::sim {
namespace kernel_launch_test {

using namespace launched;

Gemm gemm(int place_of_c = 0) {
  Gemm gemm;
  gemm.a = whole(0, rows, depth);
  gemm.b = whole(1, columns, depth);
  gemm.c = whole(2, rows, columns, place_of_c);
  return gemm;
}

TEST(KernelLaunch, OfAGemmMovesItsBytesOverHbm) {
  Launched one(1, gemm());
  const KernelLaunch launch = gemm_launch(gemm(), one.site());
  EXPECT_GT(one.cost().traffic.hbm_bytes, 0);
  EXPECT_NEAR(bytes_through(launch, Launched::hbm), one.cost().traffic.hbm_bytes, 1);
  EXPECT_EQ(launch.limit, Limit::compute);
}

// What it writes is so little that all of it goes to the HBM while the next kernel begins.
TEST(KernelLaunch, OfAGemmThatAddsTakesTheHbmLongerForWhatItReadsAndWrites) {
  Machine machine = test_machine();
  machine.gpu.hbm_update_share = 0.25;
  Gemm adds = gemm();
  adds.addend = adds.c;
  Launched one(1, adds, machine);
  const double added_to = 2.0 * rows * columns, operands = 2.0 * depth * (rows + columns);
  const double touched = operands + 2 * added_to;
  EXPECT_EQ(one.cost().traffic.touched_bytes, touched);
  const double slowdown = 1 + 2 * added_to / touched * (1 / machine.gpu.hbm_update_share - 1);
  EXPECT_NEAR(bytes_through(gemm_launch(adds, one.site()), Launched::hbm),
              one.cost().traffic.hbm_bytes * slowdown - added_to, 1);
  machine.gpu.hbm_update_share = 1;
  Launched as_a_stream(1, adds, machine);
  EXPECT_NEAR(bytes_through(gemm_launch(adds, as_a_stream.site()), Launched::hbm),
              one.cost().traffic.hbm_bytes - added_to, 1);
}

// What the stream of operands makes longer tiles wait is a tenth of that at most.
TEST(KernelLaunch, OfAGemmThatAddsHasTilesThatWaitForWhatTheyAddTo) {
  Gemm adds = gemm();
  adds.addend = adds.c;
  Launched plain(1, gemm()), adding(1, adds);
  const TiledWork work = gemm_launch(gemm(), plain.site()).work;
  const double wave_bytes = 2.0 * rows * columns / static_cast<double>(work.tiles) * work.ctas;
  const double read_us = wave_bytes / bytes_per_us(test_machine().gpu.hbm_GBps);
  EXPECT_NEAR(gemm_launch(adds, adding.site()).work.tile_us - work.tile_us, read_us, 0.1 * read_us);
}

TEST(KernelLaunch, OfAGemmStoresItsResultOnAPeerOverEveryLinkOfTheWay) {
  Launched one(2, gemm(1));
  const KernelLaunch launch = gemm_launch(gemm(1), one.site());
  int links = 0;
  ASSERT_EQ(launch.work.stores.size(), 1u);
  const TileStores& stores = launch.work.stores.front();
  EXPECT_EQ(stores.tiles, launch.work.tiles);
  for (const Use& use : stores.uses) {
    ++links;
    EXPECT_NEAR(use.per_unit * stores.bytes_per_tile * static_cast<double>(launch.work.tiles), 2.0 * rows * columns, 1);
  }
  EXPECT_EQ(links, 2);  // out of one GPU, into the other
}

TEST(KernelLaunch, OfAGemmStoresReplicasThroughTheSamePort) {
  Launched one(4, gemm());
  Gemm replicated = gemm();
  for (const int place : {1, 2, 3}) replicated.replicas.push_back(whole(2, rows, columns, place));
  const KernelLaunch launch = gemm_launch(replicated, one.site());
  double most = 0;
  ASSERT_EQ(launch.work.stores.size(), 1u);
  for (const Use& use : launch.work.stores.front().uses) most = std::max(most, use.per_unit);
  EXPECT_EQ(most, 3);  // out of this GPU
  EXPECT_TRUE(gemm_launch(gemm(), one.site()).work.stores.empty());
}

// Two blocks of rows as one GEMM of all rows; only the first one's tiles leave.
TEST(KernelLaunch, OfAGemmOfTwoBlocksHasTheTilesOfBothAndStoresThoseOnThePeer) {
  Gemm both = gemm();
  both.earlier = {{.a = both.a, .c = whole(2, rows, columns, 1)}};
  Launched one(2, both), alone(2, gemm());
  const KernelLaunch launch = gemm_launch(both, one.site());
  EXPECT_EQ(launch.work.tiles, 2 * gemm_launch(gemm(), alone.site()).work.tiles);
  ASSERT_EQ(launch.work.stores.size(), 2u);
  EXPECT_EQ(launch.work.stores[0].tiles, launch.work.tiles / 2);
  EXPECT_NEAR(launch.work.stores[0].bytes_per_tile * static_cast<double>(launch.work.tiles / 2), 2.0 * rows * columns,
              1);
  EXPECT_EQ(launch.work.stores[1].bytes_per_tile, 0);
}

/// Two blocks of rows in one launch in which the ranks meet; the first one goes to the peer, the second one comes from
/// it.
Gemm stored_and_fetched() {
  Gemm both = gemm();
  both.earlier = {{.a = both.a, .c = whole(2, rows, columns, 1)}};
  both.a_from = both.a;
  both.a_from->place = 1;
  both.kernel = own_kernel(256, 1, TileScheduler::static_persistent);
  both.order = own_order;
  both.meets = PeerMeeting::begin_and_end;
  return both;
}

TEST(KernelLaunch, OfAGemmThatFetchesBringsEachRowOnceBandAfterBand) {
  const Gemm both = stored_and_fetched();
  Launched one(2, both);
  const TiledWork work = gemm_launch(both, one.site()).work;
  const TileGrid grid = tile_grid(*both.kernel, {rows, columns, depth});
  const FetchOrder order = fetch_order({rows, columns, depth}, DataType::bf16, both.order, grid, work.ctas);
  const std::int64_t band = order.band_rows / own_tile_m;
  ASSERT_EQ(work.fetches.size(), static_cast<std::size_t>((grid.rows + band - 1) / band));
  double bytes = 0;
  for (std::size_t i = 0; i < work.fetches.size(); ++i) {
    const TileFetch& fetch = work.fetches[i];
    EXPECT_EQ(fetch.first_tile, grid.tiles() + static_cast<std::int64_t>(i) * band * grid.columns);
    EXPECT_LE(fetch.first_bytes, fetch.bytes);
    EXPECT_EQ(fetch.GBps, test_machine().gemm.own_fetch_GBps);
    bytes += fetch.bytes;
  }
  EXPECT_EQ(bytes, 2.0 * rows * depth);
}

TEST(KernelLaunch, OfAGemmWithOtherTilesThanOursFetchesEachRowOnceToo) {
  for (const int tile_rows : {32, 64, 256}) {
    Gemm both = stored_and_fetched();
    both.kernel->tile_m = tile_rows;
    Launched one(2, both);
    double bytes = 0;
    for (const TileFetch& fetch : gemm_launch(both, one.site()).work.fetches) {
      EXPECT_GT(fetch.bytes, 0) << tile_rows;
      bytes += fetch.bytes;
    }
    EXPECT_EQ(bytes, 2.0 * rows * depth) << tile_rows;
  }
}

TEST(KernelLaunch, OfAGemmAtWhoseEndTheRanksMeetTellsThemAfterItsLastTile) {
  Gemm both = stored_and_fetched();
  Launched one(2, both);
  const double with_us = gemm_launch(both, one.site()).work.epilogue_us;
  both.a_from.reset();
  both.meets = PeerMeeting::begin;
  EXPECT_DOUBLE_EQ(with_us - gemm_launch(both, one.site()).work.epilogue_us, test_machine().gemm.own_end_us);
}

// Of a tile of half the largest one's columns half.
TEST(KernelLaunch, OfOurGemmTakesLongerForTilesThatAdd) {
  Gemm both = gemm();
  both.earlier = {{.a = both.a, .c = whole(2, rows, columns, 1)}};
  both.addend = both.c;
  both.kernel = own_kernel(128, 1, TileScheduler::static_persistent);
  Launched one(2, both);
  const TiledWork work = gemm_launch(both, one.site()).work;
  ASSERT_EQ(work.stores.size(), 2u);
  EXPECT_EQ(work.stores[0].addend_us, 0);
  EXPECT_DOUBLE_EQ(work.stores[1].addend_us, test_machine().gemm.own_addend_us / 2);
}

TEST(KernelLaunch, OfAGemmThatSignalsTellsOfItsGroupsLater) {
  Launched one(1, gemm());
  EXPECT_EQ(gemm_launch(gemm(), one.site()).work.signal_us, 0);
  one.let_it_signal();
  EXPECT_EQ(gemm_launch(gemm(), one.site()).work.signal_us, test_machine().gemm.own_signal_us);
}

TEST(KernelLaunch, OfOurGemmTakesBeforeItsFirstTileWhatItTakesOnce) {
  Gemm own = gemm();
  own.kernel = own_kernel(256, 1, TileScheduler::static_persistent);
  Launched one(1, own);
  const TiledWork work = gemm_launch(own, one.site()).work;
  EXPECT_DOUBLE_EQ(work.start_us, test_machine().gemm.kernel_overhead_us + test_machine().gemm.own_persistent_start_us);
}

TEST(KernelLaunch, OfTheLibrarysGemmHoldsItsSmsUntilShortlyBeforeItsEnd) {
  Launched one(1, gemm());
  const TileTiming timing = time_tile(test_machine(), {rows, columns, depth}, one.site().cost.kernel, DataType::bf16);
  const TiledWork work = gemm_launch(gemm(), one.site()).work;
  EXPECT_DOUBLE_EQ(work.epilogue_us, test_machine().gemm.end_us);
  EXPECT_DOUBLE_EQ(work.start_us + work.epilogue_us, timing.once_us);
  EXPECT_GT(work.start_us, 0);
}

// What ranks wait for that comes fast does not give way: with a depth of 64 a tile is there at once.
TEST(KernelLaunch, OfAGemmThatIsWaitedForIsHeldUpMoreByItsStores) {
  Gemm both = gemm();
  both.earlier = {{.a = both.a, .c = whole(2, rows, columns, 1)}};
  both.kernel = own_kernel(128, 1, TileScheduler::static_persistent);
  const auto hold_us = [&] {
    Launched one(2, both);
    return gemm_launch(both, one.site()).work.stores.front().hold_us;
  };
  const double gives_way_us = hold_us();
  both.signals = {{.tile_group = 0, .counter = 0, .place = 1}};
  ASSERT_FALSE(stores_give_way(both, depth, both.kernel->tile_n));
  const GemmTiming& gemm_of = test_machine().gemm;
  EXPECT_NEAR(hold_us() / gives_way_us, gemm_of.own_hasty_store_hold / gemm_of.own_store_hold, 1e-9);
}

TEST(OperationCosts, KnowWhichGemmsTellOthersOfTheirGroupsOfTiles) {
  Gemm in_groups = gemm();
  in_groups.tile_groups = {1, 1};
  Schedule schedule = schedule_of(1, in_groups);
  EXPECT_FALSE(operation_costs(schedule, test_machine()).front().signals);
  schedule.operations.push_back({"follows", 0, {{0, Point::tile_group, 1}}, Delay{1}});
  EXPECT_TRUE(operation_costs(schedule, test_machine()).front().signals);
}

// Both take as long: the eighth root of two in all, of the tiles since they last as long as the stream.
TEST(KernelLaunch, OfAGemmIsHeldUpByOperandsFromHbmAndMovesNoMoreBytes) {
  Launched plain(1, gemm());
  Machine machine = test_machine();
  const KernelLaunch before = gemm_launch(gemm(), plain.site());
  const double waves = std::ceil(static_cast<double>(before.work.tiles) / before.work.ctas);
  machine.gpu.hbm_GBps = 1e12;
  const double tile_us = gemm_launch(gemm(), Launched(1, gemm(), machine).site()).work.tile_us;
  machine.gpu.hbm_GBps = plain.cost().traffic.hbm_bytes / (waves * tile_us) * 1e-3;
  Launched tied(1, gemm(), machine);
  const KernelLaunch launch = gemm_launch(gemm(), tied.site());
  EXPECT_NEAR(launch.work.tile_us, tile_us * std::pow(2, 0.125), 1e-6);
  EXPECT_NEAR(bytes_through(launch, Launched::hbm), tied.cost().traffic.hbm_bytes, 1);
}

TEST(KernelLaunch, OfAGemmWithFewSmsHasFewerCtas) {
  Launched one(1, gemm());
  Gemm limited = gemm();
  limited.max_sms = 4;
  EXPECT_EQ(gemm_launch(limited, one.site()).work.ctas, 4);
  EXPECT_EQ(gemm_launch(gemm(), one.site()).work.ctas, test_machine().gpu.sms());
}

TEST(KernelLaunch, OfATileThatFitsNoSmNamesTheKernel) {
  Gemm huge = gemm();
  huge.kernel = GemmKernel{.tile_m = 1024, .tile_n = 1024};
  Launched one(1, huge);
  try {
    gemm_launch(huge, one.site());
    FAIL() << "accepted";
  } catch (const InputError& error) {
    EXPECT_EQ(error.field(), "kernel.kernel");
  }
}

TEST(KernelLaunch, OfAMemoryBoundKernelMovesItsBytesOverHbmInFourBlocksForEachSm) {
  const MemoryBound add{MemoryKernel::fill, {}, {whole(2, rows, columns)}};
  Launched one(1, add);
  const KernelLaunch launch = memory_bound_launch(one.work(), one.site());
  EXPECT_EQ(launch.work.tiles, 4 * test_machine().gpu.sms());
  EXPECT_NEAR(bytes_through(launch, Launched::l2), one.cost().traffic.touched_bytes, 1);
  EXPECT_NEAR(bytes_through(launch, Launched::hbm), one.cost().traffic.hbm_bytes, 1);
}

TEST(KernelLaunch, OfASumHasEveryBlockWaitForItsFirstBytes) {
  Machine machine = test_machine();
  const MemoryBound add{MemoryKernel::add, {}, {whole(2, rows, columns)}}, norm{MemoryKernel::rms_norm, {}, add.writes};
  const auto work = [&](const MemoryBound& kernel, double start_us) {
    machine.other_kernels.sum_start_us = start_us;
    Launched one(1, kernel, machine);
    return memory_bound_launch(one.work(), one.site()).work;
  };
  EXPECT_DOUBLE_EQ(work(add, 3).tile_us, work(add, 0).tile_us + 3);
  EXPECT_EQ(work(add, 3).epilogue_us, 0);
  EXPECT_EQ(work(add, 0).epilogue_us, machine.other_kernels.overhead_us);
  EXPECT_EQ(work(norm, 3).tile_us, work(norm, 0).tile_us);
}

struct SharesOfHbm {
  double activation = 1, quantize = 1, norm = 1, gather = 1;
};
OwnRowKernels of_own_rows(const SharesOfHbm& of_sm, const Machine& machine) {
  const double GBps = machine.gpu.hbm_GBps;
  return {.activation_GBps = of_sm.activation * GBps,
          .quantize_GBps = of_sm.quantize * GBps,
          .norm_GBps = of_sm.norm * GBps,
          .gather_GBps = of_sm.gather * GBps,
          .hbm_share = 1};
}

TEST(KernelLaunch, OfAMemoryBoundKernelAtAnotherClockChangesOnlyItsTimes) {
  const MemoryBound swiglu{MemoryKernel::swiglu, {}, {whole(2, rows, columns)}};
  Machine machine = test_machine();
  machine.own_rows = of_own_rows({}, machine);
  machine.own_rows->start_us = 1;
  Launched one(1, swiglu, machine);
  const KernelLaunch fast = memory_bound_launch(one.work(), one.at_clock_between(1));
  const KernelLaunch slow = memory_bound_launch(one.work(), one.at_clock_between(0.5));
  EXPECT_DOUBLE_EQ(slow.work.tile_us, 2 * fast.work.tile_us);
  EXPECT_DOUBLE_EQ(slow.work.epilogue_us, 2 * fast.work.epilogue_us);
  EXPECT_EQ(slow.work.uses, fast.work.uses);
  TiledWork adapted = fast.work;
  set_memory_bound_times(adapted, one.at_clock_between(0.5));
  EXPECT_EQ(adapted.tile_us, slow.work.tile_us);
  EXPECT_EQ(adapted.epilogue_us, slow.work.epilogue_us);
}

// In proportion to the time of a block: what an SM draws.
TEST(KernelLaunch, OfOurOwnNormsAndActivationsDrawsWhatTheProfileSaysOfThem) {
  Machine machine = test_machine();
  machine.other_kernels.norm_share = machine.other_kernels.swiglu_share = machine.other_kernels.rotary_share = 0.1;
  const auto time_us = [&](MemoryKernel kernel, Implementation implementation) {
    Launched one(1, MemoryBound{kernel, {}, {whole(2, rows, columns)}}, machine);
    one.is_by(implementation);
    return memory_bound_launch(one.work(), one.site()).work.tile_us;
  };
  const auto gain = [&](MemoryKernel kernel) {
    return time_us(kernel, Implementation::pytorch) / time_us(kernel, Implementation::weft);
  };
  const double others = 0.1 / machine.gpu.sms(), memory = machine.other_kernels.memory_share_per_sm;
  EXPECT_DOUBLE_EQ(gain(MemoryKernel::swiglu), 1) << "where the profile says nothing";
  machine.own_rows = of_own_rows({.activation = 0.4, .quantize = 0.5, .norm = 0.3, .gather = 0.02}, machine);
  EXPECT_DOUBLE_EQ(gain(MemoryKernel::swiglu), 0.4 / others);
  EXPECT_DOUBLE_EQ(gain(MemoryKernel::quantize), 0.5 / memory);
  EXPECT_DOUBLE_EQ(gain(MemoryKernel::add_rms_norm), 0.3 / others);
  EXPECT_DOUBLE_EQ(gain(MemoryKernel::rotary), 0.4 / others);
  EXPECT_DOUBLE_EQ(gain(MemoryKernel::gather), 0.02 / memory);
}

TEST(KernelLaunch, OfOurOwnActivationsHasItsShareOfWhatHbmCarries) {
  Machine machine = test_machine();
  machine.own_rows = of_own_rows({.activation = 0.4}, machine);
  machine.own_rows->hbm_share = 0.8;
  Launched one(1, MemoryBound{MemoryKernel::swiglu, {whole(2, rows, columns)}, {}}, machine);
  const KernelLaunch launch = memory_bound_launch(one.work(), one.site());
  EXPECT_NEAR(bytes_through(launch, Launched::hbm), one.cost().traffic.hbm_bytes / 0.8, 1);
}

TEST(KernelLaunch, OfOurOwnRotaryPassesTwiceThroughWhatItTurnsInPlace) {
  Machine machine = test_machine();
  machine.own_rows = of_own_rows({}, machine);
  const MemoryBound in_place{MemoryKernel::rotary, {whole(2, rows, columns)}, {whole(2, rows, columns)}};
  Launched one(1, in_place, machine);
  const KernelLaunch launch = memory_bound_launch(one.work(), one.site());
  EXPECT_NEAR(bytes_through(launch, Launched::l2), 2 * one.cost().traffic.touched_bytes, 1);
  EXPECT_NEAR(bytes_through(launch, Launched::hbm), 2 * one.cost().traffic.hbm_bytes, 1);
  one.is_by(Implementation::pytorch);
  EXPECT_NEAR(bytes_through(memory_bound_launch(one.work(), one.site()), Launched::l2),
              one.cost().traffic.touched_bytes, 1);
}

TEST(KernelLaunch, ThatHoldsSmsLeavesNoRoomOnThemAndMovesNothing) {
  Launched one(1, Delay{.time_us = 5, .held_sms = 3});
  const KernelLaunch launch = holding_launch(3, 5, one.site());
  EXPECT_EQ(launch.work.tiles, 3);
  EXPECT_DOUBLE_EQ(launch.work.tile_us, 5);
  EXPECT_EQ(bytes_through(launch, Launched::l2), 0);
  EXPECT_EQ(launch.cta.shared_memory, test_machine().gpu.shared_memory_per_sm);
}

TEST(KernelLaunch, OfMoreTilesThanCanBeSimulatedIsRefused) {
  const std::int64_t long_rows = std::int64_t{1} << 31;
  Gemm many = gemm();
  many.a.rows = many.c.rows = RowRange{0, long_rows};
  many.kernel = GemmKernel{.tile_m = 8, .tile_n = 8, .tile_k = 16};
  Launched one(1, many);
  EXPECT_EQ(error_of([&] { gemm_launch(many, one.site()); }),
            "kernel: expected a kernel of at most 2^27 tiles, got 17179869184");
}

TEST(KernelLaunch, OfAClusterThatFitsNoGpcIsRefused) {
  Gemm wide = gemm();
  wide.kernel = GemmKernel{.cluster_m = 4, .cluster_n = 4};
  Launched one(1, wide);
  EXPECT_EQ(error_of([&] { gemm_launch(wide, one.site()); }),
            "kernel.kernel: expected a tile and stages that fit one SM's shared memory, and a cluster that fits one "
            "GPC");
}

}  // namespace kernel_launch_test
}  // namespace weft::sim
