// Schedules that take turns share one clock, at which their mix meets the power limit.
#include <gtest/gtest.h>

#include <cmath>

#include "scenarios/families/build.hpp"
#include "sim/simulated_executor.hpp"
#include "tests/sim/test_machine.hpp"

namespace weft::sim {
namespace mix_clock_test {

using namespace scenarios;

Schedule schedule_of(const Workload& workload, int gpus) {
  return families::build({.id = "case", .gpus = gpus, .workload = workload, .schedule = {}, .measured = {}},
                         test_machine());
}

const Schedule hot = schedule_of(PairWorkload{PairOp::gemm_all_reduce, 8192, 8192, 8192}, 8);
const Schedule cool = schedule_of(CollectiveWorkload{CollectiveKind::all_reduce, 1 << 26}, 8);

double clock_MHz(const std::vector<Schedule>& mix, const Machine& machine = test_machine()) {
  return SimulatedExecutor().clock_of_mix_MHz(mix, machine);
}

Trace at_clock(const Schedule& schedule, double MHz) {
  Machine machine = test_machine();
  machine.condition.fixed_clock_MHz = MHz;
  return SimulatedExecutor().run(schedule, machine);
}

TEST(MixClock, OfOneScheduleIsThatOfItsOwnLoad) {
  const Trace alone = SimulatedExecutor().run(hot, test_machine());
  EXPECT_LT(alone.clock_MHz, 0.97 * test_machine().gpu.max_clock_MHz);
  EXPECT_NEAR(at_clock(hot, clock_MHz({hot})).time_us, alone.time_us, 0.005 * alone.time_us)
      << "each search ends within 0.4 % of power";
}

TEST(MixClock, IsTheHighestWhereNothingNeedsMorePower) {
  EXPECT_EQ(clock_MHz({cool, cool}), test_machine().gpu.max_clock_MHz);
}

TEST(MixClock, LiesBetweenThoseOfTheLoadsThemselves) {
  EXPECT_GT(clock_MHz({hot, cool}), 1.01 * clock_MHz({hot}));
  EXPECT_LT(clock_MHz({hot, hot, cool}), clock_MHz({hot, cool}));
}

// Turns are of one length here: both iterations are far shorter.
TEST(MixClock, IsThatAtWhichTheMeanPowerOfTheTurnsMeetsTheLimit) {
  const double MHz = clock_MHz({hot, cool});
  const double iterations_us[] = {at_clock(hot, MHz).time_us, at_clock(cool, MHz).time_us};
  const double powers_W[] = {at_clock(hot, MHz).power_W, at_clock(cool, MHz).power_W};
  double energy_uJ = 0, time_us = 0;
  for (int i = 0; i < 2; ++i) {
    const double turn_us = iterations_us[i] * std::max(1.0, std::floor(2000 / iterations_us[i]));
    energy_uJ += powers_W[i] * turn_us;
    time_us += turn_us;
  }
  EXPECT_NEAR(energy_uJ / time_us, test_machine().power.limit_W, 0.002 * test_machine().power.limit_W);
}

TEST(MixClock, IsTheLowestWhereNoClockMeetsTheLimit) {
  Machine machine = test_machine();
  machine.power.limit_W = machine.power.idle_W + 1;
  EXPECT_NEAR(clock_MHz({hot}, machine), 0.3 * machine.gpu.max_clock_MHz, 1e-9);
}

// The clock goes up between GEMMs: whoever asks at the mean that was read asks too high.
TEST(MixClock, IsBelowTheMeanThatItGives) {
  Machine machine = test_machine();
  machine.power.clock_between = 0.95;
  const double at_work_MHz = 0.6 * machine.gpu.max_clock_MHz;
  const auto mean_of = [&](const Schedule& schedule) {
    Machine at_work = machine;
    at_work.condition.fixed_clock_MHz = at_work_MHz, at_work.condition.is_of_mix = true;
    return SimulatedExecutor().run(schedule, at_work);
  };
  double sum = 0, time_us = 0;
  for (const Schedule& one : {hot, cool}) {
    const Trace trace = mean_of(one);
    const double turn_us = trace.time_us * std::max(1.0, std::floor(2000 / trace.time_us));
    sum += turn_us * trace.clock_MHz;
    time_us += turn_us;
  }
  EXPECT_GT(sum / time_us, 1.05 * at_work_MHz);
  EXPECT_NEAR(SimulatedExecutor().clock_at_mean_MHz({hot, cool}, machine, sum / time_us), at_work_MHz,
              0.004 * machine.gpu.max_clock_MHz);
  EXPECT_EQ(SimulatedExecutor().clock_at_mean_MHz({hot}, machine, machine.gpu.max_clock_MHz),
            machine.gpu.max_clock_MHz);
}

TEST(MixClock, HasNoLimitWithoutPower) {
  SimulatedExecutor executor({.spans = false, .mechanisms = {.power = false}, .given_us = {}});
  EXPECT_EQ(executor.clock_of_mix_MHz({hot}, test_machine()), test_machine().gpu.max_clock_MHz);
}

}  // namespace mix_clock_test
}  // namespace weft::sim
