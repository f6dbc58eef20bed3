// The terms of a tile's time one at a time, as docs/equations.md writes them: each alone on a machine where the others
// cost nothing, with numbers that can be worked out by hand, then together.
#include <gtest/gtest.h>

#include <cmath>

#include "models/cost/gemm_model.hpp"
#include "models/schedule/own_kernels.hpp"

namespace weft {
namespace tile_timing_test {

/// 4 SMs x 1000 flops a clock x 1000 MHz = 1e6 flops/us an SM; everything else costs nothing.
Machine machine_of_tensor_cores() {
  Machine machine;
  machine.gpu.gpc_sms = {4};
  machine.gpu.tensor_flops_per_clock_per_sm = 1000;
  machine.gpu.max_clock_MHz = 1000;
  machine.gpu.fp8_speedup = 1;
  machine.gpu.l2_GBps = machine.gpu.l2_unique_GBps = machine.gpu.hbm_GBps = 1e30;
  machine.gemm.cooperative_efficiency = machine.gemm.pingpong_efficiency = 1;
  machine.gemm.cooperative_above_elements = 128 * 128;
  machine.gemm.dynamic_above_waves = 1000;
  return machine;
}
/// The same where tensor cores cost nothing either.
Machine machine_of_nothing() {
  Machine machine = machine_of_tensor_cores();
  machine.gpu.tensor_flops_per_clock_per_sm = 1e30;
  return machine;
}

/// Ping-pong: not above 128 x 128 elements.
GemmKernel small_kernel() { return {.tile_m = 128, .tile_n = 64, .tile_k = 64, .stages = 4}; }
GemmKernel large_kernel() { return {.tile_m = 256, .tile_n = 128, .tile_k = 64, .stages = 4}; }

/// Steps along k of the size below.
constexpr double steps = 10;
/// A wave of four of the small kernel's tiles.
constexpr MatrixSize four_small_tiles{256, 128, 640};

double step_us(const Machine& machine, const GemmKernel& kernel = small_kernel(), DataType dtype = DataType::bf16,
               double clock_share = 1) {
  return time_tile(machine, four_small_tiles, kernel, dtype, clock_share).tile_us / steps;
}

/// bytes/us to GB/s.
constexpr double GBps(double bytes_per_us) { return bytes_per_us / 1e3; }

// --- 2 Mt Nt Kt / (gpu.tensor_rate x gpu.max_clock x f x E) ------------------------------------------------------

constexpr double small_tensor_us = 2.0 * 128 * 64 * 64 / 1e6;

TEST(TileTiming, OfTensorCoresIsOperationsOverTheirRate) {
  EXPECT_NEAR(step_us(machine_of_tensor_cores()), small_tensor_us, 1e-9);
}

TEST(TileTiming, OfTensorCoresGoesWithTheClock) {
  EXPECT_NEAR(step_us(machine_of_tensor_cores(), small_kernel(), DataType::bf16, 0.5), 2 * small_tensor_us, 1e-9);
}

TEST(TileTiming, OfTensorCoresHasAnEfficiencyForSmallTilesAndOneForLarge) {
  Machine machine = machine_of_tensor_cores();
  machine.gemm.pingpong_efficiency = 0.5;
  machine.gemm.cooperative_efficiency = 0.25;
  EXPECT_NEAR(step_us(machine), small_tensor_us / 0.5, 1e-9);
  EXPECT_NEAR(step_us(machine, large_kernel()), 4 * small_tensor_us / 0.25, 1e-9);
}

TEST(TileTiming, OfTensorCoresIsShorterInFp8) {
  Machine machine = machine_of_tensor_cores();
  machine.gpu.fp8_speedup = 2;
  EXPECT_NEAR(step_us(machine, small_kernel(), DataType::fp8), small_tensor_us / 2, 1e-9);
}

TEST(TileTiming, OfFp8IsThatOfLargeTilesWhereItsAccumulatorsAreAsMany) {
  Machine machine = machine_of_tensor_cores();
  machine.gemm.cooperative_efficiency = 0.5;
  GemmKernel kernel = small_kernel();
  kernel.tile_n = 128;
  const double bf16_us = 2 * small_tensor_us;
  EXPECT_NEAR(step_us(machine, kernel, DataType::fp8), bf16_us, 1e-9);
  machine.gemm.fp8_accumulators = 2;
  EXPECT_NEAR(step_us(machine, kernel, DataType::fp8), bf16_us / 0.5, 1e-9);
  EXPECT_NEAR(step_us(machine, kernel), bf16_us, 1e-9);
}

TEST(TileTiming, OfTheLibrarysKernelStartsLaterInFp8) {
  Machine machine = machine_of_nothing();
  machine.gemm.kernel_overhead_us = 2;
  machine.gemm.fp8_start_us = 3;
  const auto once_us = [&](DataType dtype) {
    return time_tile(machine, four_small_tiles, small_kernel(), dtype).once_us;
  };
  EXPECT_NEAR(once_us(DataType::bf16), 2, 1e-9);
  EXPECT_NEAR(once_us(DataType::fp8), 5, 1e-9);
}

TEST(TileTiming, StartsLaterAtALowerClockByAShareOfItsOverhead) {
  Machine machine = machine_of_nothing();
  machine.gemm.kernel_overhead_us = 2;
  machine.gemm.overhead_at_clock = 0.25;
  EXPECT_NEAR(time_tile(machine, four_small_tiles, small_kernel(), DataType::bf16).once_us, 2, 1e-9);
  EXPECT_NEAR(time_tile(machine, four_small_tiles, small_kernel(), DataType::bf16, 0.5).once_us, 2.5, 1e-9);
}

// --- gemm.load_latency / (S f) -----------------------------------------------------------------------------------

TEST(TileTiming, OfLoadsIsTheirLatencyOverTheStagesAndTheClock) {
  Machine machine = machine_of_nothing();
  machine.gemm.load_latency_us = 3;
  GemmKernel kernel = small_kernel();
  kernel.stages = 6;
  EXPECT_NEAR(step_us(machine, kernel), 0.5, 1e-9);
  EXPECT_NEAR(step_us(machine, kernel, DataType::bf16, 0.5), 1, 1e-9);
}

// --- U b Kt (Mt / Cn + Nt / Cm) CTAs / gpu.l2_bandwidth ----------------------------------------------------------

Machine machine_of_l2() {
  Machine machine = machine_of_nothing();
  machine.gpu.l2_GBps = GBps(1e6);
  return machine;
}

TEST(TileTiming, OfTheL2IsTheOperandsOfAllCtasOfTheWave) {
  EXPECT_NEAR(step_us(machine_of_l2()), 2.0 * 64 * (128 + 64) * 4 / 1e6, 1e-9);
}

// A tile of 128 x 64 whose rows of b have a quarter of their bytes loads 144 rows of 192.
TEST(TileTiming, OfLoadsGoesWithTheBytesOfAStep) {
  Machine machine = machine_of_nothing();
  machine.gemm.load_latency_us = 1.2;
  const auto step = [&](double b_share) {
    return tiles_of(machine, four_small_tiles, small_kernel(), DataType::bf16, {.b_share = b_share}).at(1).tile_us /
           steps;
  };
  EXPECT_NEAR(step(1), 1.2 / 4, 1e-9);
  EXPECT_NEAR(step(0.25), 1.2 / 4 * 144 / 192, 1e-9);
}

// A quarter of the bytes of 64 rows of b beside 128 of a; of what the wave reads once, 256 rows of a and 128 of b.
TEST(TileTiming, OfTheL2IsLessWhereElementsOfBArePacked) {
  const TileOfWave tile =
      tiles_of(machine_of_l2(), four_small_tiles, small_kernel(), DataType::bf16, {.b_share = 0.25});
  EXPECT_NEAR(tile.at(1).tile_us / steps, 2.0 * 64 * (128 + 64 * 0.25) * 4 / 1e6, 1e-9);
  EXPECT_NEAR(tile.wave().rows, 256 + 128 * 0.25, 1e-9);
  EXPECT_NEAR(tile.l2_bytes(), steps * 2 * 64 * (128 + 64 * 0.25), 1e-9);
}

TEST(TileTiming, OfTheL2HasNoMoreCtasThanTheGpuHoldsOrTheMatrixHas) {
  const Machine machine = machine_of_l2();
  const auto of = [&](const MatrixSize& size) {
    return time_tile(machine, size, small_kernel(), DataType::bf16).tile_us / steps;
  };
  EXPECT_NEAR(of({4096, 4096, 640}), of(four_small_tiles), 1e-9);
  EXPECT_NEAR(of({128, 128, 640}), of(four_small_tiles) / 2, 1e-9);
}

TEST(TileTiming, OfTheL2IsLessInClustersThatShareRowsOfAAlongNAndOfBAlongM) {
  GemmKernel kernel = small_kernel();
  kernel.cluster_n = 2;
  EXPECT_NEAR(step_us(machine_of_l2(), kernel), 2.0 * 64 * (64 + 64) * 4 / 1e6, 1e-9);
  kernel.cluster_n = 1, kernel.cluster_m = 2;
  EXPECT_NEAR(step_us(machine_of_l2(), kernel), 2.0 * 64 * (128 + 32) * 4 / 1e6, 1e-9);
}

TEST(TileTiming, OfTheL2HasHalfTheBytesInFp8AndTakesNoNoteOfTheClock) {
  EXPECT_NEAR(step_us(machine_of_l2(), small_kernel(), DataType::fp8, 0.5), 64 * (128 + 64) * 4 / 1e6, 1e-9);
}

TEST(TileTiming, OfTheL2IsMoreWhereRowsAreNoWholeLines) {
  Machine machine = machine_of_l2();
  machine.gemm.unaligned_load_factor = 1.5;
  const auto of = [&](std::int64_t k) {
    return time_tile(machine, {256, 128, k}, small_kernel(), DataType::bf16).tile_us;
  };
  EXPECT_NEAR(of(639), 1.5 * of(640), 1e-9);
}

TEST(TileTiming, OfTheL2IsMoreStillWhereRowsSplitSectors) {
  Machine machine = machine_of_l2();
  machine.gemm.unaligned_load_factor = 1.5, machine.gemm.split_sector_load_factor = 1.2;
  const auto of = [&](std::int64_t k) {
    return time_tile(machine, {256, 128, k}, small_kernel(), DataType::bf16).tile_us;
  };
  EXPECT_NEAR(of(624), 1.5 * of(640), 1e-9);
  EXPECT_NEAR(of(632), 1.5 * 1.2 * of(640), 1e-9);
}

TEST(TileTiming, SaysWhatATileReadsFromTheL2) {
  EXPECT_NEAR(time_tile(machine_of_l2(), four_small_tiles, small_kernel(), DataType::bf16).l2_bytes,
              steps * 2 * 64 * (128 + 64), 1e-9);
}

// --- U b Kt R / gpu.l2_unique_bandwidth --------------------------------------------------------------------------

Machine machine_of_unique_bytes() {
  Machine machine = machine_of_nothing();
  machine.gpu.l2_unique_GBps = GBps(1e6);
  return machine;
}

TEST(TileTiming, OfUniqueBytesIsTheRowsOfASquareOfTiles) {
  const MatrixSize large{4096, 4096, 640};
  const double rows = 2 * std::sqrt(4 * 128 * 64);
  EXPECT_NEAR(time_tile(machine_of_unique_bytes(), large, small_kernel(), DataType::bf16).tile_us,
              steps * 2 * 64 * rows / 1e6, 1e-9);
}

TEST(TileTiming, OfUniqueBytesIsTheRowsThatANarrowMatrixHas) {
  const double area = 4 * 128 * 64;
  for (const auto& [size, rows] :
       {std::pair{MatrixSize{128, 4096, 640}, 128 + area / 128}, std::pair{MatrixSize{4096, 64, 640}, area / 64 + 64},
        std::pair{MatrixSize{64, 64, 640}, 64.0 + 64}}) {
    const double ctas = 4;
    EXPECT_NEAR(rows_of_wave(size, small_kernel(), ctas), rows, 1e-9);
  }
}

// A wave of 4 tiles is 256 columns wide, however few rows the matrix has.
TEST(TileTiming, OfUniqueBytesIsNotOfMoreColumnsWhereTilesAreHigherThanTheMatrix) {
  EXPECT_NEAR(rows_of_wave({1, 4096, 640}, small_kernel(), 4), 1 + 4 * 64, 1e-9);
  EXPECT_NEAR(rows_of_wave({4096, 1, 640}, small_kernel(), 4), 4 * 128 + 1, 1e-9);
}

TEST(TileTiming, OfUniqueBytesHasRowsOfItsOwnForEverySliceAlongK) {
  GemmKernel kernel = small_kernel();
  kernel.split_k = 2;
  EXPECT_NEAR(rows_of_wave({4096, 4096, 640}, kernel, 4), 2 * 2 * std::sqrt(2 * 128 * 64), 1e-9);
}

TEST(TileTiming, OfUniqueBytesIsMoreWhereRowsAreNoWholeLines) {
  Machine machine = machine_of_unique_bytes();
  machine.gemm.unaligned_load_factor = 1.5;
  const auto of = [&](std::int64_t k) {
    return time_tile(machine, {4096, 4096, k}, small_kernel(), DataType::bf16).tile_us;
  };
  EXPECT_NEAR(of(639), 1.5 * of(640), 1e-9);
}

// --- (t_tensor^8 + t_latency^8 + (t_l2^2 + t_unique^2)^4) ^ (1/8) ------------------------------------------------

TEST(TileTiming, IsTheEighthRootOfTheSumOfEighthPowersWithTheL2AsTheRootOfItsSquares) {
  Machine machine = machine_of_tensor_cores();
  const double of_tensor = step_us(machine);
  machine.gemm.load_latency_us = 4 * of_tensor * small_kernel().stages / 2;
  EXPECT_NEAR(step_us(machine), of_tensor * std::pow(1 + 256, 0.125), 1e-9);
  machine.gpu.l2_GBps = GBps(2.0 * 64 * (128 + 64) * 4 / (3 * of_tensor));
  EXPECT_NEAR(step_us(machine), of_tensor * std::pow(1 + 256 + 6561, 0.125), 1e-9);
  const double rows = rows_of_wave(four_small_tiles, small_kernel(), 4);
  machine.gpu.l2_unique_GBps = GBps(2.0 * 64 * rows / (4 * of_tensor));
  EXPECT_NEAR(step_us(machine), of_tensor * std::pow(1 + 256 + std::pow(9 + 16, 4), 0.125), 1e-9);
}

// --- t_tile = steps x t_step + epilogue, t_once = gemm.kernel_overhead + epilogue ---------------------------------

TEST(TileTiming, HasAsManyStepsAsASliceOfKNeeds) {
  const Machine machine = machine_of_tensor_cores();
  const auto steps_of = [&](std::int64_t k, int split_k) {
    GemmKernel kernel = small_kernel();
    kernel.split_k = split_k;
    return time_tile(machine, {256, 128, k}, kernel, DataType::bf16).tile_us / small_tensor_us;
  };
  EXPECT_NEAR(steps_of(640, 1), 10, 1e-9);
  EXPECT_NEAR(steps_of(641, 1), 11, 1e-9);
  EXPECT_NEAR(steps_of(577, 3), 4, 1e-9);  // a slice of 193
}

TEST(TileTiming, EndsWithAnEpilogueThatSmallTilesHideButOnce) {
  Machine machine = machine_of_nothing();
  machine.gemm.epilogue_us_per_element = 1e-4;
  machine.gemm.kernel_overhead_us = 7;
  const auto of = [&](const GemmKernel& kernel) {
    return time_tile(machine, four_small_tiles, kernel, DataType::bf16, 0.5);
  };
  EXPECT_NEAR(of(small_kernel()).tile_us, 0, 1e-9);
  EXPECT_NEAR(of(small_kernel()).once_us, 7 + 128 * 64 * 1e-4 / 0.5, 1e-9);
  EXPECT_NEAR(of(large_kernel()).tile_us, 256 * 128 * 1e-4 / 0.5, 1e-9);
  EXPECT_NEAR(of(large_kernel()).once_us, 7, 1e-9);
}

TEST(TileTiming, HidesAShareOfALargeTilesEpilogueButOnceWhereItsCtaGoesOn) {
  Machine machine = machine_of_nothing();
  machine.gemm.epilogue_us_per_element = 1e-4;
  machine.gemm.epilogue_hidden = 0.25;
  const double epilogue_us = 256 * 128 * 1e-4;
  GemmKernel kernel = large_kernel();
  EXPECT_NEAR(time_tile(machine, four_small_tiles, kernel, DataType::bf16).tile_us, epilogue_us, 1e-9);
  kernel.scheduler = TileScheduler::static_persistent;
  EXPECT_NEAR(time_tile(machine, four_small_tiles, kernel, DataType::bf16).tile_us, 0.75 * epilogue_us, 1e-9);
  EXPECT_NEAR(time_tile(machine, four_small_tiles, kernel, DataType::bf16).once_us, 0.25 * epilogue_us, 1e-9);
}

// --- tiles, and t_once + ceil(tiles / P) t_tile -------------------------------------------------------------------

TEST(TileCount, IsThatOfWholeClustersForEverySliceAlongK) {
  GemmKernel kernel = small_kernel();
  EXPECT_EQ(tile_count({129, 65, 640}, kernel), 2 * 2);
  kernel.cluster_m = 3, kernel.cluster_n = 2, kernel.split_k = 5;
  EXPECT_EQ(tile_count({129, 129, 640}, kernel), 3 * 4 * 5);
}

TEST(EstimatedGemm, IsWavesOfTilesAndWhatAKernelTakesOnce) {
  Machine machine = machine_of_tensor_cores();
  machine.gemm.kernel_overhead_us = 7;
  const MatrixSize nine_tiles{3 * 128, 3 * 64, 640};
  EXPECT_NEAR(estimated_gemm_us(machine, nine_tiles, small_kernel()), 7 + 3 * steps * small_tensor_us, 1e-9);
}

TEST(EstimatedGemm, OfManyWavesWaitsForItsTileCounter) {
  Machine machine = machine_of_tensor_cores();
  machine.gemm.root_counter_reset_us = 2;
  const MatrixSize nine_tiles{3 * 128, 3 * 64, 640};
  const double without_us = estimated_gemm_us(machine, nine_tiles, small_kernel());
  machine.gemm.dynamic_above_waves = 2;
  EXPECT_NEAR(estimated_gemm_us(machine, nine_tiles, small_kernel()), without_us + 2, 1e-9);
  machine.gemm.dynamic_above_waves = 3;
  EXPECT_NEAR(estimated_gemm_us(machine, nine_tiles, small_kernel()), without_us, 1e-9);
}

TEST(CounterFill, IsAKernelInGraphsOfWeftAndOtherwiseAMemset) {
  Machine machine;
  machine.gemm.counter_reset_us = 4;
  Schedule schedule;
  EXPECT_EQ(counter_fill_us(machine, schedule), 4);  // the profile knows no other
  machine.gemm.counter_fill_us = 1.5;
  EXPECT_EQ(counter_fill_us(machine, schedule), 1.5);
  machine.condition.memsets = true;
  EXPECT_EQ(counter_fill_us(machine, schedule), 4);
  machine.condition.memsets = false;
  schedule.launch = Launch::eager;
  EXPECT_EQ(counter_fill_us(machine, schedule), 4);
  schedule.launch = Launch::graph;
  schedule.implementation = Implementation::pytorch;
  EXPECT_EQ(counter_fill_us(machine, schedule), 4);
}

TEST(TileTiming, OfTheL2IsAsIfNothingWereSharedWhereMulticastSavesNothing) {
  Machine machine = machine_of_l2();
  GemmKernel kernel = small_kernel();
  kernel.cluster_n = kernel.cluster_m = 2;
  const double shared_us = time_tile(machine, {512, 256, 640}, kernel, DataType::bf16).tile_us;
  machine.gemm.multicast_saves = 0;
  const double apart_us = time_tile(machine, {512, 256, 640}, kernel, DataType::bf16).tile_us;
  EXPECT_NEAR(apart_us, 2 * shared_us, 1e-9);
  machine.gemm.multicast_saves = 0.5;
  EXPECT_NEAR(time_tile(machine, {512, 256, 640}, kernel, DataType::bf16).tile_us, apart_us / std::sqrt(2), 1e-9);
}

// Tiles of 128 x 64 in clusters of two along m cover 512 x 64 of a matrix of 260 x 48.
TEST(TileTiming, OfTheL2CountsRowsOutsideOfTheMatrixAsOftenAsTheyCost) {
  Machine machine = machine_of_l2();
  GemmKernel kernel = small_kernel();
  kernel.cluster_m = 2;
  const MatrixSize size{260, 48, 640};
  const double within_us = time_tile(machine, size, kernel, DataType::bf16).tile_us;
  const Bytes within_bytes = static_cast<Bytes>(time_tile(machine, size, kernel, DataType::bf16).l2_bytes);
  machine.gemm.outside_rows_cost = 3;
  const double rows_of_a = 128, rows_of_b = 64.0 / 2, outside_m = 1 - 260.0 / 512, outside_n = 1 - 48.0 / 64;
  const TileTiming timing = time_tile(machine, size, kernel, DataType::bf16);
  EXPECT_NEAR(timing.tile_us / within_us,
              (rows_of_a * (1 + 2 * outside_m) + rows_of_b * (1 + 2 * outside_n)) / (rows_of_a + rows_of_b), 1e-9);
  EXPECT_EQ(static_cast<Bytes>(timing.l2_bytes), within_bytes);
}

TEST(TileTiming, OfAClusterStartsLaterWithEachDoubling) {
  Machine machine = machine_of_tensor_cores();
  GemmKernel kernel = small_kernel();
  const double alone_us = time_tile(machine, {512, 256, 640}, kernel, DataType::bf16).once_us;
  machine.gemm.cluster_start_us = 0.5;
  EXPECT_EQ(time_tile(machine, {512, 256, 640}, kernel, DataType::bf16).once_us, alone_us);
  kernel.cluster_m = 4, kernel.cluster_n = 2;
  EXPECT_NEAR(time_tile(machine, {512, 256, 640}, kernel, DataType::bf16).once_us, alone_us + 3 * 0.5, 1e-9);
}

TEST(SplitK, AddsUpPartialSumsAtARateOfItsOwn) {
  Machine machine = machine_of_l2();
  machine.gemm.split_k_GBps = GBps(1e5);
  GemmKernel kernel = small_kernel();
  kernel.split_k = 3;
  EXPECT_NEAR(split_k_reduction_us(machine, {1000, 100, 640}, kernel), 1000 * 100 * (4 * 3 + 2) / 1e5, 1e-9);
}

TEST(SplitK, AddsUpPartialSumsThroughTheL2) {
  Machine machine = machine_of_l2();
  machine.gemm.split_k_overhead_us = 5;
  GemmKernel kernel = small_kernel();
  EXPECT_EQ(split_k_reduction_us(machine, {1000, 100, 640}, kernel), 0);
  kernel.split_k = 3;
  EXPECT_NEAR(split_k_reduction_us(machine, {1000, 100, 640}, kernel), 5 + 1000 * 100 * (4 * 3 + 2) / 1e6, 1e-9);
}

TEST(TileTiming, OwnKernelsTakeLongerATileAsAGridAndOnceWherePersistent) {
  Machine machine = machine_of_l2();
  const auto timing = [&](TileScheduler scheduler) {
    return time_tile(machine, {4096, 4096, 4096}, own_kernel(128, 1, scheduler), DataType::bf16, 1);
  };
  const TileTiming grid = timing(TileScheduler::grid), persistent = timing(TileScheduler::static_persistent);
  machine.gemm.own_grid_tile_us = 3;
  machine.gemm.own_persistent_start_us = 2;
  EXPECT_NEAR(timing(TileScheduler::grid).tile_us - grid.tile_us, 3, 1e-9);
  EXPECT_NEAR(timing(TileScheduler::grid).once_us, grid.once_us, 1e-9);
  EXPECT_NEAR(timing(TileScheduler::static_persistent).tile_us, persistent.tile_us, 1e-9);
  EXPECT_NEAR(timing(TileScheduler::static_persistent).once_us - persistent.once_us, 2, 1e-9);
}

TEST(KernelEfficiency, IsThatOfOwnKernelsWhereTilesSignalOrWait) {
  Machine machine;
  machine.gemm.own_efficiency = 0.8;
  Gemm gemm;
  EXPECT_EQ(kernel_efficiency(machine, gemm), 1);
  gemm.signals = {{}};
  EXPECT_EQ(kernel_efficiency(machine, gemm), 0.8);
  gemm.signals = {};
  gemm.waits = {{}};
  EXPECT_EQ(kernel_efficiency(machine, gemm), 0.8);
}

// --- Waves of a GEMM alone ---------------------------------------------------------------------------------------

// Two tiles of 32 steps on 4 SMs, in two slices: one is given, one waited for, one added.
TEST(LoneWaves, OfATileInSlicesAreItsShareAndTheirSums) {
  Machine machine = machine_of_tensor_cores();
  const GemmKernel whole = own_kernel(256, 1, TileScheduler::static_persistent);
  const GemmKernel cut = own_kernel(256, 1, TileScheduler::stream_k);
  const MatrixSize two_tiles{128, 512, 32 * 64};
  const TileTiming timing = time_tile(machine, two_tiles, cut, DataType::bf16);
  EXPECT_DOUBLE_EQ(lone_waves(machine, two_tiles, whole, timing), 1);
  EXPECT_DOUBLE_EQ(lone_waves(machine, two_tiles, cut, timing), 0.5);
  machine.gemm.own_slice_us = timing.tile_us / 10;
  EXPECT_NEAR(lone_waves(machine, two_tiles, cut, timing), 0.5 + 3 * 0.1, 1e-9);
  EXPECT_DOUBLE_EQ(lone_waves(machine, {128, 256 * 6, 32 * 64}, cut, timing), 1 + 0.5 + 3 * 0.1);
}

TEST(LoneWaves, OfAFullWaveOrOfTooFewStepsAreWhole) {
  Machine machine = machine_of_tensor_cores();
  machine.gemm.own_slice_us = 1;
  const GemmKernel cut = own_kernel(256, 1, TileScheduler::stream_k);
  for (const MatrixSize& size : {MatrixSize{128, 4 * 256, 32 * 64}, MatrixSize{128, 512, 15 * 64}})
    EXPECT_DOUBLE_EQ(lone_waves(machine, size, cut, time_tile(machine, size, cut, DataType::bf16)), 1);
}

}  // namespace tile_timing_test
}  // namespace weft
