#include "sim/clock_of_phases.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/cost/governor.hpp"

namespace weft::sim {
namespace {

constexpr int most_runs_of_phases = 8;
constexpr double agreement = 0.01;  // of power and its limit
constexpr double most_change = 2;   // of power above idle, in one step

}  // namespace

Attempt at_clocks_of_phases(Simulation& simulation, Attempt attempt) {
  const Power& power = simulation.power();
  const double memory_us = governor_memory_us(power), highest_share = simulation.tensor_clock_share(1);
  if (!attempt.is_power_limited || memory_us == 0 || power.peak_limit_W > 0) return attempt;
  std::vector<PowerSpan> spans = simulation.power_spans(attempt);
  const double limit_W = simulation.governed_power(attempt, PowerChanges(spans, attempt.time_us)).limit_W;
  std::vector<double> shares(spans.size(), simulation.tensor_clock_share(attempt.clock_share));
  for (int run = 0; run < most_runs_of_phases; ++run) {
    const std::vector<double> seen_W = averages_at_ends(spans, attempt.time_us, power.idle_W, memory_us);
    bool agrees = true;
    for (std::size_t id = 0; id < shares.size(); ++id) {
      if (!simulation.is_on_tensor_cores(static_cast<OperationId>(id))) continue;
      const double excess = seen_W[id] / limit_W - 1;
      if (std::abs(excess) < agreement || (excess < 0 && shares[id] == highest_share)) continue;
      agrees = false;
      const double change = (limit_W - power.idle_W) / std::max(seen_W[id] - power.idle_W, 1.0);
      // Power grows with the clock and with the square of the voltage, which hardly changes.
      const double faster = std::sqrt(std::clamp(change, 1 / most_change, most_change));
      shares[id] = std::clamp(shares[id] * faster, lowest_clock_share, highest_share);
    }
    if (agrees) break;
    attempt = simulation.run_each_at(shares);
    attempt.is_power_limited = true;
    spans = simulation.power_spans(attempt);
  }
  return attempt;
}

}  // namespace weft::sim
