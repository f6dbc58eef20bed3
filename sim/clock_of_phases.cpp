#include "sim/clock_of_phases.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "models/cost/governor.hpp"

namespace weft::sim {
namespace {

constexpr int most_runs_of_phases = 8;
constexpr double agreement_of_phases = 0.01;  // of power and its limit: a third to all of it in the clock
constexpr double shortest_phase = 0.5;        // over the memory: of a shorter one the average hardly tells
constexpr double most_excess = 0.1;           // inside of operations, where others beside them come and go
constexpr double most_change = 2;             // of an operation's power, in one step

/// Which operations have a clock of their own.
std::vector<bool> long_phases(const std::vector<PowerSpan>& spans, double memory_us) {
  std::vector<bool> are_long;
  for (const PowerSpan& span : spans)
    are_long.push_back(span.on_tensor_cores && span.end_us - span.start_us >= shortest_phase * memory_us);
  return are_long;
}

/// The factor of the clock at which the average ends so much higher: the operation's own power counts for as much as
/// the average forgets while it lasts, and grows at least with the clock and at most with its cube, which the root
/// damps.
double faster_by(const PowerSpan& span, double missing_W, double memory_us) {
  const double lasts_us = span.end_us - span.start_us, own_W = span.energy_uJ / lasts_us;
  const double change = 1 + missing_W / (own_W * (1 - decay(lasts_us / memory_us)));
  return std::sqrt(std::clamp(change, 1 / most_change, most_change));
}

}  // namespace

Attempt at_clocks_of_phases(Simulation& simulation, Attempt at_one_clock) {
  const Power& power = simulation.power();
  const double memory_us = governor_memory_us(power), highest_share = simulation.tensor_clock_share(1);
  if (!at_one_clock.is_power_limited || memory_us == 0 || power.peak_limit_W > 0) return at_one_clock;
  Attempt attempt = at_one_clock;
  std::vector<PowerSpan> spans = simulation.power_spans(attempt);
  const std::vector<bool> are_long = long_phases(spans, memory_us);
  std::vector<double> shares(spans.size(), simulation.tensor_clock_share(attempt.clock_share));
  for (int run = 0;; ++run) {
    const PowerChanges changes(spans, attempt.time_us);
    const GovernedPower governed = simulation.governed_power(attempt, changes);
    const std::vector<double> seen_W = averages_at_ends(spans, changes, power.idle_W, memory_us);
    const std::vector<double> before = shares;
    for (std::size_t id = 0; id < shares.size(); ++id)
      if (are_long[id] && std::abs(seen_W[id] / governed.limit_W - 1) >= agreement_of_phases)
        shares[id] = std::clamp(shares[id] * faster_by(spans[id], governed.limit_W - seen_W[id], memory_us),
                                lowest_clock_share, highest_share);
    if (shares == before || run == most_runs_of_phases) {
      if (governed.excess() <= 1 + most_excess) return attempt;
      break;
    }
    attempt = simulation.run_each_at(shares);
    attempt.is_power_limited = true;
    spans = simulation.power_spans(attempt);
  }
  attempt = simulation.run(at_one_clock.clock_share);  // once more: what is told of it is told of the last run
  attempt.is_power_limited = true;
  return attempt;
}

}  // namespace weft::sim
