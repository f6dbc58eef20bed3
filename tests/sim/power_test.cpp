// What the power limit, the tensor cores' clock and the condition of a run do to times.
#include <gtest/gtest.h>

#include <cmath>

#include "scenarios/families/build.hpp"
#include "sim/energy.hpp"
#include "sim/simulated_executor.hpp"
#include "tests/sim/test_machine.hpp"

namespace weft::sim {
namespace power_test {

using namespace scenarios;

Schedule schedule_of(const Workload& workload, int gpus, const ScheduleChoice& choice = {}) {
  return families::build({.id = "case", .gpus = gpus, .workload = workload, .schedule = choice, .measured = {}},
                         test_machine());
}

Trace run(const Workload& workload, int gpus, const Machine& machine, const ScheduleChoice& choice = {}) {
  return SimulatedExecutor().run(schedule_of(workload, gpus, choice), machine);
}

const GemmWorkload large{8192, 8192, 8192};

TEST(Power, LimitLowersTheClockUntilTheMeanPowerMeetsIt) {
  SimulationStatistics statistics;
  const Trace trace = SimulatedExecutor().run(schedule_of(large, 1), test_machine(), &statistics);
  EXPECT_LT(statistics.clock_share, 0.95);
  EXPECT_NEAR(trace.clock_MHz, statistics.clock_share * test_machine().gpu.max_clock_MHz, 1e-6);
  EXPECT_NEAR(trace.power_W, test_machine().power.limit_W, 0.01 * test_machine().power.limit_W);
  EXPECT_EQ(trace.limited_by, Limit::power);
}

// It draws nothing, and takes no turns with the GEMM.
TEST(Power, AKernelThatWaitsBesideAGemmLeavesItTheLoadThatItIs) {
  Schedule waited_for = schedule_of(large, 1);
  waited_for.counters = {{.name = "told"}};
  waited_for.streams.push_back({"waits", 0});
  waited_for.operations.push_back({"tells", 1, {}, Signal{.counter = 0}});
  waited_for.operations.push_back({"waits", 1, {}, Wait{.counter = 0}});
  EXPECT_TRUE(is_steady_load(waited_for));
  EXPECT_NEAR(SimulatedExecutor().run(waited_for, test_machine()).clock_MHz, run(large, 1, test_machine()).clock_MHz,
              2);
  waited_for.operations.pop_back();
  waited_for.operations.front().work = Signal{.counter = 0};
  EXPECT_FALSE(is_steady_load(waited_for)) << "nothing but signals";
}

// Rows of GEMMs are held as one that is repeated alone; what comes from other ranks makes a load come and go.
TEST(Power, OperationsThatAreAGpusOwnAreASteadyLoad) {
  Schedule schedule = schedule_of(large, 1);
  schedule.operations.push_back(schedule.operations.front());
  EXPECT_TRUE(is_steady_load(schedule));
  schedule.operations.push_back({"pause", 0, {}, Delay{}});
  EXPECT_FALSE(is_steady_load(schedule));
  schedule.operations.back().work = Collective{};
  EXPECT_FALSE(is_steady_load(schedule));
}

TEST(Power, LightLoadRunsAtTheFullClock) {
  const Trace trace = run(CollectiveWorkload{CollectiveKind::all_reduce, 1 << 24}, 4, test_machine());
  EXPECT_EQ(trace.clock_MHz, test_machine().gpu.max_clock_MHz);
}

// Nothing but tensor cores takes longer at a lower clock, so no clock meets a limit that transfers alone exceed.
TEST(Power, TransfersAloneAreNotHeldBack) {
  Machine machine = test_machine();
  machine.power.limit_W = machine.power.idle_W + 1;
  const CollectiveWorkload transfer{CollectiveKind::all_reduce, 1 << 24};
  EXPECT_EQ(run(transfer, 4, machine).time_us, run(transfer, 4, test_machine()).time_us);
}

// Exponentials and what comes from the L2 cost besides the products.
TEST(Power, OfAttentionIsItsOwnWhereTheProfileKnowsIt) {
  const AttentionWorkload attention{.tokens = 16384, .heads = 32, .kv_heads = 8, .head_dim = 128};
  Machine machine = test_machine();
  const double unlimited_W = machine.power.limit_W = machine.power.steady_limit_W = 1e4;
  const Trace by_default = run(attention, 2, machine);
  ASSERT_LT(by_default.power_W, unlimited_W);
  machine.power.attention_pJ_per_flop = machine.power.tensor_pJ_per_flop;
  EXPECT_EQ(run(attention, 2, machine).power_W, by_default.power_W);
  machine.power.attention_pJ_per_flop = 2 * machine.power.tensor_pJ_per_flop;
  const Trace dearer = run(attention, 2, machine);
  EXPECT_GT(dearer.power_W, by_default.power_W);
  EXPECT_EQ(dearer.time_us, by_default.time_us);
  machine.power.attention_64_pJ_per_flop = machine.power.tensor_pJ_per_flop;
  EXPECT_EQ(run(attention, 2, machine).power_W, dearer.power_W);
  AttentionWorkload of_short_heads = attention;
  of_short_heads.head_dim = 64;
  EXPECT_LT(run(of_short_heads, 2, machine).power_W, by_default.power_W);
  machine.power.limit_W = machine.power.steady_limit_W = 0.9 * dearer.power_W;
  EXPECT_LT(run(attention, 2, machine).clock_MHz, machine.gpu.max_clock_MHz);
}

TEST(Power, GemmRunsFasterWhenItAlternatesWithCommunication) {
  const GemmWorkload gemm{8192, 8192, 4096};
  const PairWorkload pair{PairOp::gemm_all_reduce, gemm.m, gemm.n, gemm.k};
  const Trace alone = run(gemm, 1, test_machine());
  const Trace both = run(pair, 8, test_machine());
  EXPECT_LT(both.spans.front().end_us - both.spans.front().start_us,
            0.98 * (alone.spans.front().end_us - alone.spans.front().start_us));
}

// Where the voltage goes with the clock, the same limit leaves a higher one: a lower one saves energy as well.
TEST(Power, LowerVoltageSavesEnergyBesidesTime) {
  Machine machine = test_machine();
  const double without_us = run(large, 1, machine).time_us;
  machine.power.voltage_floor = 0;
  const double with_us = run(large, 1, machine).time_us;
  EXPECT_LT(with_us, 0.98 * without_us);
}

// In proportion to power the clock would fall below the lowest; with the voltage it need not.
TEST(Power, ALimitFarBelowTheLoadIsMetAtTheHighestClockThatMeetsIt) {
  Machine machine = test_machine();
  machine.power.voltage_floor = 0;
  machine.power.limit_W = 1e4;
  machine.power.limit_W = machine.power.idle_W + 0.2 * (run(large, 1, machine).power_W - machine.power.idle_W);
  EXPECT_NEAR(run(large, 1, machine).power_W, machine.power.limit_W, 0.01 * machine.power.limit_W);
}

// The all-reduce takes less power than the GEMM.
TEST(Power, ThePeakLimitHoldsALoadBackThatComesAndGoesButNoEvenOne) {
  Machine machine = test_machine();
  const PairWorkload pair{PairOp::gemm_all_reduce, 8192, 8192, 8192};
  const double pair_us = run(pair, 8, machine).time_us, gemm_us = run(large, 1, machine).time_us;
  machine.power.peak_limit_W = 1.03 * machine.power.limit_W;
  const Trace held = run(pair, 8, machine);
  EXPECT_GT(held.time_us, 1.005 * pair_us);
  EXPECT_LT(held.power_W, 0.99 * machine.power.limit_W);
  EXPECT_NEAR(run(large, 1, machine).time_us, gemm_us, 1e-3 * gemm_us);
}

TEST(Power, OneOperationThatIsRepeatedIsHeldAtTheSteadyLimit) {
  Machine machine = test_machine();
  machine.power.steady_limit_W = 1.1 * machine.power.limit_W;
  EXPECT_NEAR(run(large, 1, machine).power_W, machine.power.steady_limit_W, 0.01 * machine.power.limit_W);
  machine.power.governor_ramp_ms = 1e3;  // sees the mean of an iteration
  const PairWorkload pair{PairOp::gemm_all_reduce, 8192, 8192, 8192};
  EXPECT_NEAR(run(pair, 8, machine).power_W, machine.power.limit_W, 0.01 * machine.power.limit_W);
}

TEST(Power, OneLaunchInWhichTheRanksMeetIsHeldAtTheLimit) {
  Machine machine = test_machine();
  machine.power.steady_limit_W = 1.1 * machine.power.limit_W;
  const Hybrid stored{
      .trigger = HybridTrigger::one_launch, .mover = HybridMover::store, .pieces = HybridPieces::shards, .count = 1};
  const PairWorkload pair{PairOp::gemm_all_to_all, 8192, 8192, 8192};
  EXPECT_NEAR(run(pair, 2, machine, {stored}).power_W, machine.power.limit_W, 0.01 * machine.power.limit_W);
}

TEST(Power, OperationsThatTakeTurnsMayNeedMoreThanEachAlone) {
  Machine machine = test_machine();
  machine.power.limit_W = 1e6;
  const PairWorkload pair{PairOp::gemm_all_reduce, 8192, 8192, 8192};
  const double alone_W = run(large, 1, machine).power_W, pair_W = run(pair, 8, machine).power_W - machine.power.idle_W;
  machine.power.mixed_energy = 1.25;
  EXPECT_EQ(run(large, 1, machine).power_W, alone_W);
  EXPECT_NEAR(run(pair, 8, machine).power_W - machine.power.idle_W, 1.25 * pair_W, 1e-6 * pair_W);
}

TEST(Power, OurOwnKernelsTakeTheirShareOfTheLibrarysEnergy) {
  Machine machine = test_machine();
  machine.power.limit_W = 1e6, machine.power.hbm_pJ_per_byte = 0;
  const auto dynamic_W = [&](GemmSource source) {
    return run(large, 1, machine, {.family = Serial{source}}).power_W - machine.power.idle_W;
  };
  const double library_W = dynamic_W(GemmSource::library), own_W = dynamic_W(GemmSource::own_256_pairs);
  machine.gemm.own_energy = 1.5;
  EXPECT_EQ(dynamic_W(GemmSource::library), library_W);
  EXPECT_NEAR(dynamic_W(GemmSource::own_256_pairs), 1.5 * own_W, 1e-6 * own_W);
}

// The limit is far below the load, so that the tensor cores' clock is, too.
TEST(Power, TheClockGoesUpWhereNoTensorCoreWorks) {
  Machine machine = test_machine();
  machine.power.limit_W = machine.power.idle_W + 0.3 * (machine.power.limit_W - machine.power.idle_W);
  const PairWorkload pair{PairOp::gemm_all_reduce, 8192, 8192, 8192};
  SimulationStatistics statistics;
  const Trace trace = SimulatedExecutor().run(schedule_of(pair, 8), machine, &statistics);
  const double gemm_us = trace.spans.front().end_us - trace.spans.front().start_us;
  EXPECT_LT(statistics.clock_share, 0.9);
  EXPECT_NEAR(trace.clock_MHz / machine.gpu.max_clock_MHz, 1 - (1 - statistics.clock_share) * gemm_us / trace.time_us,
              0.01);
}

TEST(Power, AClockAboveTheHighestIsTheHighest) {
  Machine machine = test_machine();
  const Schedule gemm = schedule_of(large, 1);
  machine.condition.fixed_clock_MHz = machine.gpu.max_clock_MHz;
  const Trace highest = SimulatedExecutor().run(gemm, machine);
  machine.condition.fixed_clock_MHz = 2 * machine.gpu.max_clock_MHz;
  const Trace above = SimulatedExecutor().run(gemm, machine);
  EXPECT_EQ(above.time_us, highest.time_us);
  EXPECT_EQ(above.clock_MHz, machine.gpu.max_clock_MHz);
}

// As far as loads with tensor cores let it; the clock of a mix is that of the tensor cores, too.
TEST(Power, TheClockOfAMixGoesUpToTheOneBetweenTensorCoresWork) {
  Machine machine = test_machine();
  machine.power.clock_between = 0.9;
  machine.condition.fixed_clock_MHz = 0.5 * machine.gpu.max_clock_MHz;
  const Schedule pair = schedule_of(PairWorkload{PairOp::gemm_all_reduce, 8192, 8192, 8192}, 8);
  EXPECT_EQ(SimulatedExecutor().run(pair, machine).clock_MHz, machine.condition.fixed_clock_MHz);
  machine.condition.is_of_mix = true;
  const Trace trace = SimulatedExecutor().run(pair, machine);
  const double gemm_us = trace.spans.front().end_us - trace.spans.front().start_us;
  EXPECT_NEAR(trace.clock_MHz / machine.gpu.max_clock_MHz, std::lerp(0.9, 0.5, gemm_us / trace.time_us), 0.01);
  machine.power.clock_rise = 1.2;
  EXPECT_NEAR(SimulatedExecutor().run(pair, machine).clock_MHz / machine.gpu.max_clock_MHz,
              std::lerp(0.5 * 1.2, 0.5, gemm_us / trace.time_us), 0.01);
  const Schedule gemm = schedule_of(large, 1);
  EXPECT_EQ(SimulatedExecutor().run(gemm, machine).clock_MHz, machine.condition.fixed_clock_MHz);
}

TEST(Condition, AfterAPauseTheGovernorHasNotDoneAllItWill) {
  Machine machine = test_machine();
  machine.power.governor_delay_ms = 60;
  machine.power.governor_ramp_ms = 60;
  const double sustained_us = run(large, 1, machine).time_us;
  machine.condition.condition = Condition::after_pause;
  const double after_pause_us = run(large, 1, machine).time_us;
  machine.power.limit_W = 1e6;
  EXPECT_LT(after_pause_us, 0.99 * sustained_us);
  EXPECT_GT(after_pause_us, 1.001 * run(large, 1, machine).time_us);
}

TEST(Condition, AFixedClockIsHeldWhateverThePower) {
  Machine machine = test_machine();
  machine.condition.fixed_clock_MHz = machine.gpu.max_clock_MHz;
  const Trace full = run(large, 1, machine);
  EXPECT_GT(full.power_W, machine.power.limit_W);
  EXPECT_NE(full.limited_by, Limit::power);
  machine.condition.fixed_clock_MHz = machine.gpu.max_clock_MHz / 2;
  const Trace half = run(large, 1, machine);
  EXPECT_NEAR(half.time_us / full.time_us, 2, 0.02);
  EXPECT_EQ(half.clock_MHz, machine.gpu.max_clock_MHz / 2);
}

// Kernels over peer memory are as fast as the SMs' clock; the library's keep their measured times.
TEST(Condition, AtHalfTheClockCollectivesOverPeerMemoryTakeTwiceAsLong) {
  Machine machine = test_machine();
  machine.direct_collectives =
      DirectCollectives{.one_shot = {},
                        .two_shot = DirectCollective{.ctas = 4, .cta_GBps = 10, .port_GBps = 100, .beside_gemm = 0.1},
                        .multimem = {}};
  const auto slowdown = [&](Collectives collectives) {
    ScheduleChoice choice;
    choice.collectives = collectives;
    machine.condition.fixed_clock_MHz = machine.gpu.max_clock_MHz;
    const double full_us = run(CollectiveWorkload{CollectiveKind::all_reduce, 64 << 20}, 2, machine, choice).time_us;
    machine.condition.fixed_clock_MHz = machine.gpu.max_clock_MHz / 2;
    return run(CollectiveWorkload{CollectiveKind::all_reduce, 64 << 20}, 2, machine, choice).time_us / full_us;
  };
  EXPECT_NEAR(slowdown(Collectives::two_shot), 2, 0.02);
  EXPECT_NEAR(slowdown(Collectives::nccl), 1, 1e-6);
}

TEST(TensorClock, LowersTheClockOnlyWhileTensorCoresWork) {
  Machine machine = test_machine();
  machine.power.limit_W = 1e6;
  const double full_us = run(large, 1, machine).time_us;
  machine.power.tensor_clock = 0.5;
  const Trace gemm = run(large, 1, machine);
  EXPECT_NEAR(gemm.time_us / full_us, 2, 0.02);
  EXPECT_NEAR(gemm.clock_MHz, 0.5 * machine.gpu.max_clock_MHz, 0.01 * machine.gpu.max_clock_MHz);
  const Trace pair = run(PairWorkload{PairOp::gemm_all_reduce, 8192, 8192, 1024}, 8, machine);
  EXPECT_GT(pair.clock_MHz, 0.55 * machine.gpu.max_clock_MHz);
  EXPECT_LT(pair.clock_MHz, 0.99 * machine.gpu.max_clock_MHz);
}

// Two equal spans side by side over half of a period of 8 us: 100 W idle, 100 + 2 x 40 / 4 W = 120 W while they last.
TEST(Peak, CountsIdleTimeAndOverlaps) {
  EXPECT_NEAR(peak_W({{{2, 6, 40}, {2, 6, 40}}, 8}, 100),
              std::pow((std::pow(100.0, 8) + std::pow(120.0, 8)) / 2, 0.125), 1e-9);
}

TEST(Peak, OfAnEvenLoadIsItsPower) { EXPECT_NEAR(peak_W({{{0, 5, 500}, {5, 10, 500}}, 10}, 50), 150, 1e-9); }

// Periods of 10 us with 300 W for 2 us at their end and 3 us at their beginning, 100 W idle: as one phase of 5 us, at
// whose end the average has come up to 300 W but for exp(-5 / memory) of what it lacked before. 200 W are the mean.
TEST(HighestAverage, CrossesTheEndOfAPeriod) {
  const std::vector<PowerSpan> spans{{0, 3, 600}, {8, 10, 400}};
  for (const double memory_us : {1.0, 5.0, 20.0}) {
    const double kept = std::exp(-5 / memory_us), highest_W = 100 + 200 * (1 - kept) / (1 - kept * kept);
    EXPECT_NEAR(200 * highest_over_mean({spans, 10}, 100, memory_us), highest_W, 0.1) << memory_us;
  }
}

TEST(HighestAverage, IsTheMeanOfShortPeriodsAndThePowerOfLongPhases) {
  EXPECT_NEAR(highest_over_mean({{{2, 6, 400}}, 8}, 100, 1e5), 1, 1e-4);
  EXPECT_NEAR(150 * highest_over_mean({{{2, 6, 400}}, 8}, 100, 0.2), 200, 1e-3);
  EXPECT_NEAR(highest_over_mean({{{0, 8, 800}}, 8}, 100, 3), 1, 1e-12) << "an even load";
  EXPECT_EQ(highest_over_mean({{}, 8}, 0, 3), 1) << "no power";
  EXPECT_EQ(highest_over_mean({{}, 0}, 100, 3), 1) << "no time";
}

// 200 W for 2 us, then 400 W for 2 us, in periods of 8 us at 100 W idle, with next to no memory: each phase by itself.
// With much all are the mean, 200 W, of the period.
TEST(AverageAtTheEnd, OfASpanIsThatOfItsOwnPowerOrOfThePeriod) {
  const std::vector<PowerSpan> spans{{0, 2, 200}, {2, 4, 600}, {5, 7, 0}};
  const std::vector<double> own_W = averages_at_ends(spans, PowerChanges(spans, 8), 100, 0.05);
  EXPECT_NEAR(own_W[0], 200, 1);
  EXPECT_NEAR(own_W[1], 400, 1);
  EXPECT_NEAR(own_W[2], 100, 1);
  for (const double average_W : averages_at_ends(spans, PowerChanges(spans, 8), 100, 1e5))
    EXPECT_NEAR(average_W, 200, 0.1);
}

// The all-reduce takes little power, so that the mean leaves more to the GEMM than a governor that sees the GEMM alone.
TEST(Power, AGovernorThatIsFasterThanAnIterationSeesItsPhases) {
  Machine machine = test_machine();
  const PairWorkload pair{PairOp::gemm_all_reduce, 8192, 8192, 8192};
  machine.power.governor_delay_ms = 0;
  machine.power.governor_ramp_ms = 100;
  const double slow_us = run(pair, 8, machine).time_us;
  machine.power.governor_ramp_ms = 0.1;
  const Trace fast = run(pair, 8, machine);
  EXPECT_GT(fast.time_us, 1.01 * slow_us);
  EXPECT_LT(fast.power_W, 0.99 * machine.power.limit_W);
  const double gemm_us = fast.spans.front().end_us - fast.spans.front().start_us;
  EXPECT_NEAR(gemm_us, run(large, 1, machine).time_us, 0.02 * gemm_us);
}

// The GEMM of the second chunk and the all-reduce of the first are ready at once. On a stream that is no more urgent
// the all-reduce goes behind the GEMM, which holds all SMs to its end.
TEST(Priority, OnAnOrdinaryStreamACollectiveGoesBehindTheNextGemm) {
  Machine machine = test_machine();
  machine.power.limit_W = 1e6;
  machine.gemm.counter_reset_us = 2 * machine.latencies.fork_gap_us;  // so that the GEMM comes later than the fork
  const PairWorkload pair{PairOp::gemm_all_reduce, 8192, 2048, 1024};
  const auto start_of_first_collective = [&](bool urgent) {
    ScheduleChoice choice{Decomposition{2}};
    choice.urgent = urgent;
    const Trace trace = run(pair, 4, machine, choice);
    double second_gemm_end_us = 0, collective_start_us = 0;
    for (const Span& span : trace.spans) {
      if (span.gpu != 0) continue;
      if (span.operation == "gemm 1") second_gemm_end_us = span.end_us;
      if (span.operation == "all_reduce 0") collective_start_us = span.start_us;
    }
    return collective_start_us / second_gemm_end_us;
  };
  EXPECT_LT(start_of_first_collective(true), 0.7);
  EXPECT_GT(start_of_first_collective(false), 0.9);
}

}  // namespace power_test
}  // namespace weft::sim
