// Where the search for the clock begins, and that it ends at the same one wherever that is.
#include "sim/power_limit.hpp"

#include <gtest/gtest.h>

#include "scenarios/families/build.hpp"
#include "tests/sim/test_machine.hpp"

namespace weft::sim {
namespace power_limit_test {

using namespace scenarios;

Schedule schedule_of(const PairWorkload& pair, const ScheduleChoice& choice = {}) {
  return families::build({.id = "case", .gpus = 8, .workload = pair, .schedule = choice, .measured = {}},
                         test_machine());
}

const PairWorkload pair{PairOp::gemm_all_reduce, 8192, 8192, 8192};

TEST(PowerLimit, ASketchOfOneStreamIsWhatIsSimulated) {
  const Schedule schedule = schedule_of(pair);
  const SimulationOptions options;
  Simulation simulation(schedule, test_machine(), options);
  const Sketch sketch = simulation.sketch();
  const Attempt attempt = simulation.run(1);
  EXPECT_NEAR(sketch.time_us, attempt.time_us, 1e-3 * attempt.time_us);
  EXPECT_NEAR(sketch.power_W, attempt.power_W, 1e-3 * attempt.power_W);
  const std::vector<PowerSpan> spans = simulation.power_spans(attempt);
  ASSERT_EQ(sketch.spans.size(), spans.size());
  for (std::size_t i = 0; i < spans.size(); ++i) {
    EXPECT_NEAR(sketch.spans[i].start_us, spans[i].start_us, 1e-3 * attempt.time_us);
    EXPECT_NEAR(sketch.spans[i].energy_uJ, spans[i].energy_uJ, 1e-9 * spans[i].energy_uJ);
  }
}

TEST(PowerLimit, AtTheGuessForOneStreamPowerMeetsTheLimit) {
  const Schedule schedule = schedule_of(pair);
  const SimulationOptions options;
  Simulation simulation(schedule, test_machine(), options);
  const double guess = guessed_clock_share(simulation);
  EXPECT_LT(guess, 1);
  EXPECT_EQ(at_power_limit(simulation, simulation.run(guess)).clock_share, guess);
}

TEST(PowerLimit, TheClockIsTheSameWhereverTheSearchBegins) {
  const Schedule schedule = schedule_of(pair, {.family = Decomposition{.chunks = 4}});
  const SimulationOptions options;
  Simulation simulation(schedule, test_machine(), options);
  const double share = at_power_limit(simulation, simulation.run(1)).clock_share;
  EXPECT_LT(share, 1);
  for (const double begin : {0.4, 0.7, guessed_clock_share(simulation)})
    EXPECT_NEAR(at_power_limit(simulation, simulation.run(begin)).clock_share, share, agreement_of_power);
}

TEST(PowerLimit, ALowGuessEndsAtTheHighestClockWhereThatIsWithinTheLimit) {
  Machine machine = test_machine();
  machine.power.limit_W = 1e4;
  const Schedule schedule = schedule_of(pair);
  const SimulationOptions options;
  Simulation simulation(schedule, machine, options);
  EXPECT_EQ(guessed_clock_share(simulation), 1);
  for (const double begin : {1.0, 0.999, 0.7}) {
    const Attempt attempt = at_power_limit(simulation, simulation.run(begin));
    EXPECT_EQ(attempt.clock_share, 1);
    EXPECT_FALSE(attempt.is_power_limited);
  }
}

}  // namespace power_limit_test
}  // namespace weft::sim
