#include "sim/clock_of_phases.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "models/cost/governor.hpp"

namespace weft::sim {
namespace {

constexpr int most_runs_of_phases = 8;
constexpr double agreement_of_phases = 0.01;  // of power and its limit: a third to all of it in the clock
constexpr double shortest_phase = 0.25;       // over the memory: of a shorter one the average hardly tells,
constexpr double whole_phase = 0.75;          // and of one as long as that enough for a clock of its own
constexpr double most_excess = 0.1;           // inside of operations, where others beside them come and go
constexpr double most_change = 2;             // of an operation's power, in one step

/// How much of a clock of its own each operation has: 0 to 1.
std::vector<double> own_clocks(const std::vector<PowerSpan>& spans, double memory_us) {
  std::vector<double> own;
  for (const PowerSpan& span : spans) {
    const double lasts = (span.end_us - span.start_us) / memory_us;
    const double share = (lasts - shortest_phase) / (whole_phase - shortest_phase);
    own.push_back(span.on_tensor_cores ? std::clamp(share, 0.0, 1.0) : 0);
  }
  return own;
}

/// The factor of the clock at which the average ends so much higher: the operation's own power counts for as much as
/// the average forgets while it lasts, and grows at least with the clock and at most with its cube, which the root
/// damps.
double faster_by(const PowerSpan& span, double missing_W, double memory_us) {
  const double lasts_us = span.end_us - span.start_us, own_W = span.energy_uJ / lasts_us;
  const double change = 1 + missing_W / (own_W * (1 - decay(lasts_us / memory_us)));
  return std::sqrt(std::clamp(change, 1 / most_change, most_change));
}

double excess_of(Simulation& simulation, const Attempt& attempt) {
  return simulation.governed_power(attempt, PowerChanges(simulation.power_spans(attempt), attempt.time_us)).excess();
}

/// From the one clock towards the phases': as far as each operation has one of its own, and the average stays within
/// the excess, to a sixteenth of the way.
Attempt between(Simulation& simulation, const Attempt& at_one_clock, double one_share,
                const std::vector<double>& shares, const std::vector<double>& own) {
  constexpr int halvings = 4;
  std::vector<double> mixed(shares.size());
  const auto run_at = [&](double way) {
    for (std::size_t id = 0; id < shares.size(); ++id) mixed[id] = std::lerp(one_share, shares[id], way * own[id]);
    Attempt attempt = way > 0 ? simulation.run_each_at(mixed) : simulation.run(at_one_clock.clock_share);
    attempt.is_power_limited = true;
    return attempt;
  };
  // A clock of its own costs no operation time on the whole: who is blamed for what runs beside it would.
  const auto pays = [&](const Attempt& attempt) {
    return excess_of(simulation, attempt) <= 1 + most_excess && attempt.time_us <= at_one_clock.time_us;
  };
  if (const Attempt all_the_way = run_at(1); pays(all_the_way)) return all_the_way;
  double known = 0, step = 1;
  for (int i = 0; i < halvings; ++i) {
    step /= 2;
    if (pays(run_at(known + step))) known += step;
  }
  return run_at(known);  // once more: what is told of it is told of the last run
}

}  // namespace

Attempt at_clocks_of_phases(Simulation& simulation, Attempt at_one_clock) {
  const Power& power = simulation.power();
  const double memory_us = governor_memory_us(power), highest_share = simulation.tensor_clock_share(1);
  if (!at_one_clock.is_power_limited || memory_us == 0 || power.peak_limit_W > 0) return at_one_clock;
  Attempt attempt = at_one_clock;
  std::vector<PowerSpan> spans = simulation.power_spans(attempt);
  const std::vector<double> own = own_clocks(spans, memory_us);
  const double one_share = simulation.tensor_clock_share(attempt.clock_share);
  std::vector<double> shares(spans.size(), one_share);
  for (int run = 0;; ++run) {
    const PowerChanges changes(spans, attempt.time_us);
    const GovernedPower governed = simulation.governed_power(attempt, changes);
    const std::vector<double> seen_W = averages_at_ends(spans, changes, power.idle_W, memory_us);
    const std::vector<double> before = shares;
    for (std::size_t id = 0; id < shares.size(); ++id)
      if (own[id] > 0 && std::abs(seen_W[id] / governed.limit_W - 1) >= agreement_of_phases)
        shares[id] = std::clamp(shares[id] * faster_by(spans[id], governed.limit_W - seen_W[id], memory_us),
                                lowest_clock_share, highest_share);
    if (shares == before || run == most_runs_of_phases) {
      const bool are_own = std::ranges::all_of(own, [](double share) { return share == 0 || share == 1; });
      if (are_own && governed.excess() <= 1 + most_excess && attempt.time_us <= at_one_clock.time_us) return attempt;
      return between(simulation, at_one_clock, one_share, before, own);
    }
    attempt = simulation.run_each_at(shares);
    attempt.is_power_limited = true;
    spans = simulation.power_spans(attempt);
  }
}

}  // namespace weft::sim
