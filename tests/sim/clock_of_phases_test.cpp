// A GEMM that draws more than the limit and attention that does not, one after the other on one GPU.
#include "sim/clock_of_phases.hpp"

#include <gtest/gtest.h>

#include "scenarios/families/build.hpp"
#include "sim/power_limit.hpp"
#include "sim/simulated_executor.hpp"
#include "tests/sim/test_machine.hpp"

namespace weft::sim {
namespace clock_of_phases_test {

using namespace scenarios;

constexpr double alike = 0.02;

Schedule schedule_of(const Workload& workload) {
  return families::build({.id = "case", .gpus = 1, .workload = workload, .schedule = {}, .measured = {}},
                         test_machine());
}

const GemmWorkload gemm{4096, 4096, 8192};
const AttentionKernelWorkload attention{.tokens = 16384, .heads = 8, .kv_heads = 8, .head_dim = 128};

Schedule gemm_then_attention() {
  Schedule schedule = schedule_of(gemm), second = schedule_of(attention);
  const auto shift = static_cast<BufferId>(schedule.buffers.size());
  for (Buffer& buffer : second.buffers) schedule.buffers.push_back(std::move(buffer));
  Operation after = second.operations.front();
  auto& work = std::get<Attention>(after.work);
  work.qkv.buffer += shift, work.output.buffer += shift;
  after.name = "then";
  schedule.operations.push_back(std::move(after));
  schedule.meaning.reset();
  return schedule;
}

/// The governor remembers `memory_us`.
Machine machine_with(double memory_us) {
  Machine machine = test_machine();
  machine.power.governor_ramp_ms = 2e-3 * memory_us;
  machine.power.attention_pJ_per_flop = 0.5;
  return machine;
}

double time_us(const Schedule& schedule, const Machine& machine) {
  return SimulatedExecutor().run(schedule, machine).time_us;
}

TEST(ClockOfPhases, EachPhaseThatIsLongBesideTheMemoryHasTheClockThatItHasAlone) {
  const Machine machine = machine_with(20);
  const Trace trace = SimulatedExecutor().run(gemm_then_attention(), machine);
  const double gemm_us = time_us(schedule_of(gemm), machine), attention_us = time_us(schedule_of(attention), machine);
  EXPECT_GT(gemm_us, 20 * 20);
  EXPECT_NEAR(trace.time_us, gemm_us + attention_us, alike * trace.time_us);
  EXPECT_EQ(trace.limited_by, Limit::power);
  EXPECT_LE(trace.power_W, machine.power.limit_W);
}

TEST(ClockOfPhases, WhatIsShortBesideTheMemoryHasOneClock) {
  Machine machine = machine_with(1e6);
  machine.power.limit_W = 80;  // which the mean exceeds
  const Schedule schedule = gemm_then_attention();
  const SimulationOptions options;
  Simulation simulation(schedule, machine, options);
  const Attempt at_one = at_power_limit(simulation, simulation.run(1));
  ASSERT_TRUE(at_one.is_power_limited);
  const Attempt attempt = at_clocks_of_phases(simulation, at_one);
  EXPECT_TRUE(attempt.clock_shares.empty());
  EXPECT_EQ(attempt.time_us, at_one.time_us);
}

// A clock that nothing holds down further than the limit asks for is no slower than a held one that meets it.
TEST(ClockOfPhases, IsNoSlowerThanAHeldClockWhosePowerIsWithinTheLimitThroughout) {
  Machine held = machine_with(20);
  const Machine governed = held;
  held.condition.fixed_clock_MHz = 0.6 * held.gpu.max_clock_MHz;
  EXPECT_LT(SimulatedExecutor().run(schedule_of(gemm), held).power_W, held.power.limit_W);
  EXPECT_LT(time_us(gemm_then_attention(), governed), time_us(gemm_then_attention(), held));
}

TEST(ClockOfPhases, WhereALimitOfPeaksIsKnownThereIsOneClock) {
  Machine machine = machine_with(20);
  machine.power.peak_limit_W = 1e4;
  const Schedule schedule = gemm_then_attention();
  const SimulationOptions options;
  Simulation simulation(schedule, machine, options);
  const Attempt at_one = at_power_limit(simulation, simulation.run(1));
  ASSERT_TRUE(at_one.is_power_limited);
  EXPECT_TRUE(at_clocks_of_phases(simulation, at_one).clock_shares.empty());
}

// Whatever the governor remembers, its average stays within the limit by as much as clocks are found to. A run at one
// clock behind it is as before.
TEST(ClockOfPhases, StaysWithinTheLimitAndLeavesNothingBehind) {
  const Schedule schedule = gemm_then_attention();
  const SimulationOptions options;
  for (const double memory_us : {1e2, 1e3, 3e3, 5e3, 1e4, 1.5e4, 2e4, 5e4}) {
    Machine machine = machine_with(memory_us);
    machine.power.limit_W = 120;
    Simulation simulation(schedule, machine, options);
    const double first_us = simulation.run(0.8).time_us;
    const Attempt at_one = at_power_limit(simulation, simulation.run(1));
    ASSERT_TRUE(at_one.is_power_limited) << memory_us;
    const Trace before = simulation.trace(at_one);
    const Attempt attempt = at_clocks_of_phases(simulation, at_one);
    const Trace after = simulation.trace(attempt);
    EXPECT_LT(after.time_us, before.time_us) << memory_us;
    const PowerChanges changes(simulation.power_spans(attempt), attempt.time_us);
    EXPECT_LE(simulation.governed_power(attempt, changes).excess(), 1.1) << memory_us;
    EXPECT_EQ(simulation.run(0.8).time_us, first_us);
  }
}

// An operation becomes a phase by degrees, so that a little longer a memory, or a little shorter an operation, changes
// little.
TEST(ClockOfPhases, AreLittleElseForALittleLongerMemory) {
  const Schedule schedule = gemm_then_attention();
  const SimulationOptions options;
  double shorter_us = 0;
  for (double memory_us = 1e3; memory_us < 5e4; memory_us *= 1.03) {
    Machine machine = machine_with(memory_us);
    machine.power.limit_W = 120;
    Simulation simulation(schedule, machine, options);
    const double time_us = at_clocks_of_phases(simulation, at_power_limit(simulation, simulation.run(1))).time_us;
    if (shorter_us > 0) EXPECT_NEAR(time_us / shorter_us, 1, 0.05) << memory_us;
    shorter_us = time_us;
  }
}

}  // namespace clock_of_phases_test
}  // namespace weft::sim
