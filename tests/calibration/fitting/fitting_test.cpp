// Fits recover what synthetic observations were made of, and say how sure they are.
#include <gmock/gmock.h>

#include <cmath>

#include "calibration/fitting/collective_curves.hpp"
#include "calibration/fitting/gemm_fit.hpp"
#include "calibration/fitting/launch_gaps.hpp"
#include "calibration/fitting/least_squares.hpp"
#include "calibration/fitting/lone_gemm.hpp"
#include "calibration/fitting/transfer_energy.hpp"
#include "models/cost/gemm_kernel_choice.hpp"
#include "models/cost/gemm_model.hpp"
#include "models/execution/execution_error.hpp"
#include "models/machine/machine_json.hpp"
#include "tests/source_folder.hpp"

namespace weft::calibration::fitting {
namespace fitting_test {

using testing::ElementsAre;
using testing::IsEmpty;

// --- Least squares ---------------------------------------------------------------------------------------------

/// Residuals of y = a e^(-b x) at x = 0, 0.25, …, 4.75 against `offset` + the curve with a = 3, b = 0.5.
Residuals decay(const std::vector<double>& offsets) {
  return [offsets](const std::vector<double>& values) {
    std::vector<double> residuals;
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      const double x = 0.25 * static_cast<double>(i);
      residuals.push_back(values[0] * std::exp(-values[1] * x) - (3 * std::exp(-0.5 * x) + offsets[i]));
    }
    return residuals;
  };
}
const std::vector<Parameter> decay_parameters{{1, 0, 10}, {2, 0, 10}};

TEST(LeastSquares, FindsTheParametersOfExactData) {
  const auto found = fit_least_squares(decay(std::vector<double>(20, 0)), decay_parameters, 0.1);
  EXPECT_NEAR(found[0].value, 3, 1e-5);
  EXPECT_NEAR(found[1].value, 0.5, 1e-5);
}

TEST(LeastSquares, AreNotPulledByAnOutlier) {
  std::vector<double> offsets(20, 0);
  offsets[7] = 50;
  const auto found = fit_least_squares(decay(offsets), decay_parameters, 0.01);
  EXPECT_NEAR(found[0].value, 3, 0.02);
  EXPECT_NEAR(found[1].value, 0.5, 0.02);
}

TEST(LeastSquares, StayInsideTheBounds) {
  const auto found = fit_least_squares(decay(std::vector<double>(20, 0)), {{1, 0, 2}, {2, 0, 10}}, 0.1);
  EXPECT_EQ(found[0].value, 2);
  EXPECT_TRUE(found[0].is_at_bound);
}

TEST(LeastSquares, SayWhichParameterNothingDependsOn) {
  const auto found = fit_least_squares(
      [](const std::vector<double>& values) {
        return std::vector{values[0] - 2, values[0] - 2, values[0] - 2};
      },
      {{1, 0, 10}, {7, 0, 10}}, 1);
  EXPECT_TRUE(found[0].is_determined);
  EXPECT_FALSE(found[1].is_determined);
  EXPECT_EQ(found[1].value, 7);
}

// The mean of n values has a standard error of (their deviation) / sqrt(n).
TEST(LeastSquares, GiveTheConfidenceIntervalOfAMean) {
  const std::vector<double> values{9, 11, 9, 11, 9, 11, 9, 11, 9, 11};
  const auto found = fit_least_squares(
      [&](const std::vector<double>& mean) {
        std::vector<double> residuals;
        for (const double value : values) residuals.push_back(mean[0] - value);
        return residuals;
      },
      {{5, 0, 100}}, 1000);
  const double deviation = std::sqrt(10.0 / 9);
  EXPECT_NEAR(found[0].value, 10, 1e-4);
  EXPECT_NEAR(found[0].half_width, 1.96 * deviation / std::sqrt(10.0), 1e-3);
}

// --- GEMMs -----------------------------------------------------------------------------------------------------

Machine machine() {
  Machine machine = read_machine(tests::source_folder() + "/calibration/machines/h200x8-nvswitch.json");
  machine.gemm_networks = {};  // the formulas alone, which are soon computed
  std::vector<GemmChoice> choices;
  int split = 0;
  for (const std::int64_t m : {64, 256, 1000, 1024, 4096, 16384})
    for (const std::int64_t n : {128, 2048, 8192})
      for (const std::int64_t k : {128, 1024, 8192}) {
        const bool is_large = m * n > 1 << 20, is_thin = m == 64;
        const int slices = !is_large && k == 8192 && ++split % 2 == 0 ? 4 : 1;
        choices.push_back({m,
                           n,
                           k,
                           {.tile_m = is_thin ? 8 : 128,
                            .tile_n = is_thin    ? 64
                                      : is_large ? 256
                                                 : 128,
                            .cluster_m = is_large ? 2 : 1,
                            .split_k = slices}});
      }
  machine.gemm_choices = choices;
  return machine;
}

/// After a pause.
std::vector<GemmObservation> observe(Machine machine) {
  machine.condition.condition = Condition::after_pause;
  std::vector<GemmObservation> observations;
  for (const GemmChoice& choice : machine.gemm_choices.answers()) {
    const MatrixSize size{choice.m, choice.n, choice.k};
    const double time_us = lone_gemm_us(machine, size);
    const bool is_recorded = time_us < 50;  // far from the power limit
    observations.push_back({size, DataType::bf16, time_us,
                            is_recorded ? std::optional(time_us - machine.latencies.graph_gap_us) : std::nullopt});
  }
  return observations;
}

Machine with_other_numbers(Machine machine) {
  machine.latencies.graph_gap_us *= 1.3;
  machine.gemm.kernel_overhead_us += 0.5;
  machine.gemm.cooperative_efficiency *= 0.97;
  machine.gemm.pingpong_efficiency *= 0.95;
  machine.gpu.hbm_GBps *= 0.95;
  machine.power.gemm_W *= 1.1;
  return machine;
}

TEST(GemmFit, RecoversTheMachineThatWasObserved) {
  const Machine truth = with_other_numbers(machine());
  const GemmFit fit = fit_gemms(machine(), observe(truth));
  EXPECT_NEAR(fit.machine.latencies.graph_gap_us, truth.latencies.graph_gap_us, 0.05);
  EXPECT_NEAR(fit.machine.gemm.kernel_overhead_us, truth.gemm.kernel_overhead_us, 0.05);
  EXPECT_NEAR(fit.machine.gemm.cooperative_efficiency, truth.gemm.cooperative_efficiency, 0.005);
  // Times alone hardly tell the power of busy SMs from what operands take on their way from the L2.
  EXPECT_NEAR(fit.machine.power.gemm_W, truth.power.gemm_W, 0.25 * truth.power.gemm_W);
  EXPECT_LT(fit.p90_error, 0.005);
}

// A few runs end before this governor acts; after many it has.
TEST(GemmFit, OfASlowGovernorOnlySettledRunsTellThePower) {
  Machine start = machine();
  start.power.governor_delay_ms = 1000;
  Machine truth = start;
  truth.power.gemm_W *= 1.2;
  std::vector<GemmObservation> observations = observe(truth);
  for (const GemmChoice& choice : truth.gemm_choices.answers()) {
    const MatrixSize size{choice.m, choice.n, choice.k};
    observations.push_back(
        {size, DataType::bf16, lone_gemm_us(truth, size), std::nullopt, /*after_gemm=*/false, /*settled=*/true});
  }
  EXPECT_NEAR(fit_gemms(start, observations).machine.power.gemm_W, truth.power.gemm_W, 0.01 * truth.power.gemm_W);
}

/// The share of the maximum clock at which the GEMM takes this time.
double clock_of(const Machine& machine, const MatrixSize& size, double time_us) {
  const GemmKernel kernel = choose_gemm_kernel(machine, size);
  double clock = machine.power.tensor_clock;
  for (double low = 0.2, high = clock; high - low > 1e-9;) {
    clock = (low + high) / 2;
    (lone_gemm(machine, size, DataType::bf16, kernel, clock).time_us < time_us - 1e-9 ? high : low) = clock;
  }
  return clock;
}

/// Under load, at the clock that the limit leaves, with the power that the model says.
std::vector<GemmObservation> observe_under_load(const Machine& machine) {
  std::vector<GemmObservation> observations;
  for (const GemmChoice& choice : machine.gemm_choices.answers()) {
    const MatrixSize size{choice.m, choice.n, choice.k};
    const GemmKernel kernel = choose_gemm_kernel(machine, size);
    const double time_us = lone_gemm_us(machine, size);
    const double clock = clock_of(machine, size, time_us);
    const LoneGemm one = lone_gemm(machine, size, DataType::bf16, kernel, clock);
    observations.push_back({.size = size,
                            .time_us = one.time_us,
                            .reading = ClockReading{clock, machine.power.idle_W + one.dynamic_W},
                            .condition = Condition::sustained});
  }
  return observations;
}

TEST(GemmFit, UnderLoadClocksAndPowersTellTheEnergiesApart) {
  Machine truth = with_other_numbers(machine());
  truth.gemm.cooperative_efficiency = 0.9;
  truth.power.tensor_pJ_per_flop *= 1.2;
  truth.power.hbm_pJ_per_byte *= 0.8;
  truth.power.voltage_floor = 0.2;
  const GemmFit fit = fit_gemms(machine(), observe_under_load(truth));
  EXPECT_NEAR(fit.machine.gemm.cooperative_efficiency, 0.9, 0.01);
  EXPECT_NEAR(fit.machine.power.tensor_pJ_per_flop / truth.power.tensor_pJ_per_flop, 1, 0.1);
  EXPECT_NEAR(fit.machine.power.hbm_pJ_per_byte / truth.power.hbm_pJ_per_byte, 1, 0.15);
  EXPECT_NEAR(fit.machine.power.voltage_floor, 0.2, 0.1);
  EXPECT_LT(fit.p90_error, 0.02);
}

// Such GEMMs are far below the power limit as little as they are at it, whatever their clocks.
TEST(GemmFit, ClocksWithoutPowersTellNeitherTheLimitNorTheHighestClock) {
  std::vector<GemmObservation> observations = observe_under_load(machine()), in_mixes = observations;
  const GemmFit fit = fit_gemms(machine(), observations);
  for (GemmObservation& one : in_mixes) one.reading = ClockReading{0.5 * one.reading->clock_share, 0};
  observations.insert(observations.end(), in_mixes.begin(), in_mixes.end());
  const GemmFit with_mixes = fit_gemms(machine(), observations);
  EXPECT_EQ(with_mixes.machine.power.tensor_clock, fit.machine.power.tensor_clock);
  EXPECT_EQ(with_mixes.machine.power.steady_limit_W, fit.machine.power.steady_limit_W);
}

TEST(GemmFit, ClocksAloneTellCycles) {
  const Machine truth = machine();
  std::vector<GemmObservation> observations = observe_under_load(truth);
  for (GemmObservation& one : observations) one.reading->power_W = 0;
  EXPECT_LT(fit_gemms(machine(), observations).p90_error, 0.01);
}

// What the clocks of short runs say of cycles, and their times of the governor, are two things.
TEST(GemmFit, ShortRunsWithClocksTellTheGovernorAsThoseWithout) {
  Machine truth = machine();
  truth.power.governor_delay_ms = 20;
  truth.power.governor_ramp_ms = 30;
  std::vector<GemmObservation> observations = observe(truth), under_load = observe_under_load(truth);
  for (GemmObservation& one : observations) one.reading = ClockReading{clock_of(truth, one.size, one.time_us), 0};
  under_load.insert(under_load.end(), observations.begin(), observations.end());
  Machine start = machine();
  start.power.governor_delay_ms = 10;
  start.power.governor_ramp_ms = 60;
  const GemmFit fit = fit_gemms(start, under_load);
  EXPECT_NEAR(fit.machine.power.governor_delay_ms, 20, 2);
  EXPECT_NEAR(fit.machine.power.governor_ramp_ms, 30, 6);
}

TEST(TransferEnergy, IsWhatTheHbmAndIdlingLeaveForEachByte) {
  const TransferObservation one{.bytes = 1e8, .other_uJ = 5000, .time_us = 500, .power_W = 250};
  const auto energy = transfer_energy({one, one, one}, 150);
  ASSERT_TRUE(energy);
  EXPECT_NEAR(energy->pJ_per_byte, (100 * 500 - 5000) * 1e6 / 1e8, 1e-9);
  EXPECT_FALSE(transfer_energy({one, one}, 150));
}

/// Observed as often as needed around what the L2 keeps: 21 to 84 MB that stream past a few rows.
Machine asked_around_the_l2(Machine machine) {
  std::vector<GemmChoice> choices = machine.gemm_choices.answers();
  for (int n = 8192; n <= 32768; n += 512)
    choices.push_back({16, n, 1280, {.tile_m = 16, .tile_n = 64, .cluster_m = 1, .cluster_n = 1, .stages = 16}});
  machine.gemm_choices = choices;
  return machine;
}

TEST(GemmFit, FindsWhatTheL2Keeps) {
  Machine truth = asked_around_the_l2(machine());
  truth.gpu.l2_bytes = truth.gpu.l2_bytes * 5 / 4;
  truth.gpu.l2_lost_bytes = truth.gpu.l2_bytes * 11 / 10;
  const GemmFit fit = fit_gemms(asked_around_the_l2(machine()), observe(truth));
  EXPECT_NEAR(static_cast<double>(fit.machine.gpu.l2_bytes) / static_cast<double>(truth.gpu.l2_bytes), 1, 0.05);
  EXPECT_NEAR(static_cast<double>(fit.machine.gpu.l2_lost_bytes) / static_cast<double>(truth.gpu.l2_lost_bytes), 1,
              0.05);
}

TEST(GemmFit, IsNotPulledByOneDisturbedMeasurement) {
  const Machine truth = with_other_numbers(machine());
  std::vector<GemmObservation> observations = observe(truth);
  observations[observations.size() / 2].time_us *= 3;
  const GemmFit fit = fit_gemms(machine(), observations);
  EXPECT_NEAR(fit.machine.gemm.cooperative_efficiency, truth.gemm.cooperative_efficiency, 0.01);
  EXPECT_NEAR(fit.machine.latencies.graph_gap_us, truth.latencies.graph_gap_us, 0.1);
}

TEST(GemmFit, LeavesOutNumbersThatNoObservationDependsOn) {
  Machine without_splits = machine();
  std::vector<GemmChoice> choices = without_splits.gemm_choices.answers();
  for (GemmChoice& choice : choices) choice.kernel.split_k = 1;
  without_splits.gemm_choices = choices;
  const GemmFit fit = fit_gemms(without_splits, observe(without_splits));
  for (const FittedNumber& number : fit.numbers) EXPECT_NE(number.key, "split_k_overhead");
}

TEST(GemmFit, NeedsMoreObservationsThanNumbers) {
  EXPECT_THROW(fit_gemms(machine(), {{{128, 128, 128}, DataType::bf16, 5.0}}), InputError);
}

// One wave of one 128 x 256 tile on each of two SMs, far from the power limit and the HBM rate, its loads free.
TEST(LoneGemm, IsGapPlusOverheadPlusWavesOfTiles) {
  Machine one = machine();
  one.gemm_choices = {{256, 256, 512, {.tile_m = 128, .tile_n = 256}}};
  one.gemm.load_latency_us = 0;
  one.gpu.l2_GBps = one.gpu.l2_unique_GBps = 1e12;
  const double step_us =
      2.0 * 128 * 256 * 64 /
      (one.gpu.tensor_flops_per_clock_per_sm * one.gpu.max_clock_MHz * one.gemm.cooperative_efficiency);
  one.power.tensor_clock = 1;
  EXPECT_NEAR(lone_gemm_us(one, {256, 256, 512}),
              one.latencies.graph_gap_us + one.gemm.kernel_overhead_us + 8 * step_us +
                  128 * 256 * one.gemm.epilogue_us_per_element,
              1e-6);
}

// Far more bytes than the L2 keeps: both parts tie where HBM is as slow as the tiles, and cost the eighth root of two.
TEST(LoneGemm, IsHeldUpByOperandsFromHbmTheMoreTheNearerToATie) {
  Machine one = machine();
  one.power.tensor_clock = 1;
  one.power.limit_W = one.power.steady_limit_W = 1e9;
  const MatrixSize size{8192, 8192, 8192};
  one.gpu.hbm_GBps = 1e12;
  const double fixed_us = one.latencies.graph_gap_us, tiles_us = lone_gemm_us(one, size) - fixed_us;
  const double overhead_us = one.gemm.kernel_overhead_us + one.gemm.root_counter_reset_us;
  one.gpu.hbm_GBps = 3 * 8192.0 * 8192 * 2 / (tiles_us - overhead_us) * 1e-3;
  EXPECT_NEAR((lone_gemm_us(one, size) - fixed_us - overhead_us) / (tiles_us - overhead_us), std::pow(2, 0.125), 0.002);
}

TEST(LoneGemm, IsNoFasterThanThePowerLimitAllows) {
  Machine one = machine();
  one.power.tensor_pJ_per_flop = 1.5;
  one.power.hbm_pJ_per_byte = one.power.l2_pJ_per_byte = one.power.gemm_W = 0;
  one.power.voltage_floor = 1;
  const MatrixSize size{16384, 8192, 8192};
  EXPECT_NEAR(
      lone_gemm_us(one, size) / (size.flops() * 1.5e-6 / (one.power.limit_of_steady_load_W() - one.power.idle_W)), 1,
      1e-9);
}

// --- Collectives -----------------------------------------------------------------------------------------------

constexpr CollectiveSetting by_default{CollectiveKind::all_reduce, 4, 0}, limited{CollectiveKind::all_reduce, 4, 6};

TEST(CollectiveCurves, WithoutARecordAKernelIsTheTimeLessTheGapBetweenGraphs) {
  const auto curves = build_curves({{by_default, 2048, 12}, {by_default, 1024, 10}}, {{by_default, 24, 4}}, {}, 2.5);
  ASSERT_EQ(curves.size(), 1);
  EXPECT_EQ(curves[0].points[0].bytes, 1024);
  EXPECT_EQ(curves[0].points[0].kernel_us, 10 - 2.5);
  EXPECT_EQ(curves[0].points[0].alone_us, 10);
  EXPECT_EQ(curves[0].points[1].kernel_us, 12 - 2.5);
}

// Beyond its kernel a graph takes 10 us; the third was launched late.
TEST(CollectiveCurves, RecordedKernelsCountAndOneLateLaunchDoesNot) {
  const CollectiveSetting setting{CollectiveKind::all_gather, 2, 0};
  const std::vector<CollectiveCurve> curves = build_curves({{setting, 1 << 10, 20, 10, 8},
                                                            {setting, 1 << 11, 21, 11, 16},
                                                            {setting, 1 << 12, 42, 12, 24},
                                                            {setting, 1 << 13, 23, 13, 24},
                                                            {setting, 1 << 14, 24, 14, 24}},
                                                           {{setting, 24, 4}, {setting, 8, 4}}, {}, 2);
  ASSERT_EQ(curves.size(), 1u);
  EXPECT_EQ(curves[0].ctas, 24);
  EXPECT_EQ(curves[0].points[0].ctas, 8);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(curves[0].points[i].kernel_us, 10.0 + static_cast<double>(i));
    EXPECT_EQ(curves[0].points[i].alone_us, curves[0].points[i].kernel_us + 10);
  }
}

// Beyond its kernel a graph takes 8 us or, every other one, 20.
TEST(CollectiveCurves, OfTwoWaysToLaunchAGraphTheShorterCounts) {
  const CollectiveSetting setting{CollectiveKind::all_gather, 2, 0};
  std::vector<CollectiveObservation> observations;
  for (int i = 0; i < 9; ++i) observations.push_back({setting, Bytes{1024} << i, 10.0 + (i % 2 == 0 ? 8 : 20), 10, 24});
  const std::vector<CollectiveCurve> curves = build_curves(observations, {{setting, 24, 4}}, {}, 2);
  for (std::size_t i = 2; i < 7; ++i) EXPECT_EQ(curves.at(0).points[i].alone_us, 18) << i;
}

TEST(CollectiveCurves, AKernelLastsNoLongerThanTheTimeLessTheGapBetweenGraphs) {
  const auto curves =
      build_curves({{by_default, 1024, 10, 6}, {by_default, 2048, 10, 9}}, {{by_default, 24, 4}}, {}, 3);
  EXPECT_EQ(curves.at(0).points[0].kernel_us, 6);
  EXPECT_EQ(curves.at(0).points[1].kernel_us, 7);
}

TEST(CollectiveCurves, TakeTheMedianOfWhatWasMeasuredOften) {
  const auto curves =
      build_curves({{by_default, 1024, 10}, {by_default, 1024, 11}, {by_default, 1024, 90}, {by_default, 2048, 20}},
                   {{by_default, 24, 4}}, {}, 0);
  EXPECT_EQ(curves.at(0).points[0].kernel_us, 11);
}

TEST(CollectiveCurves, NeedTwoSizes) {
  EXPECT_THAT(build_curves({{by_default, 1024, 10}}, {{by_default, 24, 4}}, {}, 0), IsEmpty());
}

TEST(CollectiveCurves, HoldTheCtasOfRecordedKernels) {
  const auto curves = build_curves({{limited, 1, 1}, {limited, 2, 2}}, {{limited, 5, 1}, {by_default, 24, 4}}, {}, 0);
  EXPECT_EQ(curves.at(0).ctas, 5);
  EXPECT_EQ(curves.at(0).cluster, 1);
}

TEST(CollectiveCurves, WithoutRecordsHoldTheDefaultUpToTheirLimit) {
  const auto curves = build_curves({{limited, 1, 1}, {limited, 2, 2}}, {{by_default, 24, 4}}, {}, 0);
  EXPECT_EQ(curves.at(0).ctas, 6);
  EXPECT_EQ(curves.at(0).cluster, 2);
}

TEST(CollectiveCurves, OfCopyEnginesHoldNoCtasAndThoseOfATransportAreItsOwn) {
  const CollectiveSetting by_engine{CollectiveKind::all_gather, 2, 0, Transport::nccl_copy_engine};
  const CollectiveSetting by_window{CollectiveKind::all_gather, 2, 0, Transport::nccl_symmetric};
  const auto curves = build_curves({{by_engine, 1, 5}, {by_engine, 2, 6}, {by_window, 1, 3}, {by_window, 2, 4}},
                                   {{by_window, 32, 1}}, {}, 0);
  ASSERT_EQ(curves.size(), 2u);
  EXPECT_EQ(curves[0].transport, Transport::nccl_symmetric);
  EXPECT_EQ(curves[0].ctas, 32);
  EXPECT_EQ(curves[1].transport, Transport::nccl_copy_engine);
  EXPECT_EQ(curves[1].ctas, 0);
  EXPECT_EQ(curves[1].points[0].kernel_us, 5);
}

TEST(CollectiveCurves, WithoutAnyDefaultAreAnError) {
  EXPECT_THROW(build_curves({{limited, 1, 1}, {limited, 2, 2}}, {}, {}, 0), ExecutionError);
}

// --- Gaps ------------------------------------------------------------------------------------------------------

KernelRecord record(const std::string& operation, const std::string& kernel, double start_us, double end_us) {
  KernelRecord result;
  result.operation = operation;
  result.launch.kernel = kernel;
  result.start_us = start_us;
  result.end_us = end_us;
  return result;
}

TEST(LaunchGaps, OfASerialPairAreTheGapBeforeItsCollective) {
  const GapSamples samples =
      collect_gaps({{true, false, {record("gemm", "nvjet", 0, 10), record("reduce", "ncclDevKernel", 11.5, 20)}}});
  EXPECT_THAT(samples.collective, ElementsAre(1.5));
  EXPECT_THAT(samples.kernel, IsEmpty());
}

TEST(LaunchGaps, OfAFilledCounterAreWhatTheFillAdds) {
  for (const bool is_kernel : {false, true}) {
    const char* fill = is_kernel ? "counter_fill_kernel" : "memset";
    const GapSamples samples = collect_gaps(
        {{true, true, {record("gather", "ncclDevKernel", 0, 10), record("gemm", "nvjet", 10.5, 20)}},
         {true,
          true,
          {record("gather", "ncclDevKernel", 0, 10), record("gemm", fill, 11, 12), record("gemm", "nvjet", 14, 20)}}});
    EXPECT_THAT(samples.kernel, ElementsAre(0.5));
    EXPECT_THAT(is_kernel ? samples.fill : samples.reset, ElementsAre(4));
    EXPECT_THAT(is_kernel ? samples.reset : samples.fill, IsEmpty());
    const LaunchGaps gaps = launch_gaps(samples);
    EXPECT_EQ(is_kernel ? gaps.counter_fill_us : gaps.counter_reset_us, 4 - 0.5);
  }
}

// gemm 0 [0, 10]  gemm 1 [11, 20]
//                 reduce 0 [13, 30]  reduce 1 [32, 40]
TEST(LaunchGaps, OfAJoinStartAtTheLastOfItsPredecessors) {
  const GapSamples samples =
      collect_gaps({{false,
                     false,
                     {record("gemm 0", "nvjet", 0, 10), record("gemm 1", "nvjet", 11, 20),
                      record("reduce 0", "ncclDevKernel", 13, 30), record("reduce 1", "ncclDevKernel", 32, 40)}}});
  EXPECT_THAT(samples.kernel, ElementsAre(1));
  EXPECT_THAT(samples.join, ElementsAre(32 - 30));
  EXPECT_THAT(samples.collective, IsEmpty());
}

// reduce 1 starts while gemm 2 runs: it may have waited for SMs.
TEST(LaunchGaps, OfAJoinBesideARunningKernelDoNotCount) {
  const GapSamples samples =
      collect_gaps({{false,
                     false,
                     {record("gemm 0", "nvjet", 0, 10), record("gemm 1", "nvjet", 11, 20),
                      record("gemm 2", "nvjet", 21, 50), record("reduce 0", "ncclDevKernel", 13, 30),
                      record("reduce 1", "ncclDevKernel", 35, 60), record("reduce 2", "ncclDevKernel", 62, 70)}}});
  EXPECT_THAT(samples.join, ElementsAre(62 - 60));
}

}  // namespace fitting_test
}  // namespace weft::calibration::fitting
