#include "sim/clock_of_phases.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/cost/governor.hpp"

namespace weft::sim {
namespace {

constexpr int most_runs_of_phases = 8;
constexpr double agreement_of_phases = 0.01;  // of power and its limit: a third of it in the clock, 10 MHz
constexpr double shortest_phase = 0.5;        // over the memory: of a shorter one the average hardly tells
constexpr double most_change = 2;             // of power above idle, in one step

}  // namespace

Attempt at_clocks_of_phases(Simulation& simulation, Attempt at_one_clock) {
  const Power& power = simulation.power();
  const double memory_us = governor_memory_us(power), highest_share = simulation.tensor_clock_share(1);
  if (!at_one_clock.is_power_limited || memory_us == 0 || power.peak_limit_W > 0) return at_one_clock;
  Attempt attempt = at_one_clock;
  std::vector<PowerSpan> spans = simulation.power_spans(attempt);
  const double limit_W = simulation.governed_power(attempt, PowerChanges(spans, attempt.time_us)).limit_W;
  std::vector<double> shares(spans.size(), simulation.tensor_clock_share(attempt.clock_share));
  for (int run = 0;; ++run) {
    const std::vector<double> seen_W = averages_at_ends(spans, attempt.time_us, power.idle_W, memory_us);
    const std::vector<double> before = shares;
    for (std::size_t id = 0; id < shares.size(); ++id) {
      const double lasts_us = spans[id].end_us - spans[id].start_us;
      const double excess = seen_W[id] / limit_W - 1;
      if (!spans[id].on_tensor_cores || lasts_us < shortest_phase * memory_us) continue;
      if (std::abs(excess) < agreement_of_phases) continue;
      const double change = (limit_W - power.idle_W) / std::max(seen_W[id] - power.idle_W, 1.0);
      // The square root damps: power grows at least with the clock, and at most with its cube.
      const double faster = std::sqrt(std::clamp(change, 1 / most_change, most_change));
      shares[id] = std::clamp(shares[id] * faster, lowest_clock_share, highest_share);
    }
    if (shares == before) return attempt;
    if (run == most_runs_of_phases) return at_one_clock;  // whose power is within the limit
    attempt = simulation.run_each_at(shares);
    attempt.is_power_limited = true;
    spans = simulation.power_spans(attempt);
  }
}

}  // namespace weft::sim
