#include "sim/mix_clock.hpp"

#include <algorithm>
#include <cmath>

#include "models/cost/governor.hpp"
#include "models/execution/timing_protocol.hpp"
#include "sim/false_position.hpp"
#include "sim/power_limit.hpp"

namespace weft::sim {
namespace {

constexpr int most_rounds = 12;
constexpr double alike = 2e-3;  // of the maximum clock: a quarter of the 15 MHz in which GPUs set their clocks

/// How long a schedule is at work in each turn.
double turn_us(double iteration_us) { return iteration_us * std::max(1.0, std::floor(turn_ms * 1e3 / iteration_us)); }

/// Calls `visit` with each schedule, its attempt, and how long its turn lasts.
template <class Visit>
void for_each_turn(double clock_share, const std::vector<std::unique_ptr<Simulation>>& mix, const Visit& visit) {
  for (const std::unique_ptr<Simulation>& one : mix) {
    const Attempt attempt = one->run(clock_share);
    visit(*one, attempt, turn_us(attempt.time_us));
  }
}

/// Power of the mix over the limit that is met first, of its mean over the turns and of its peaks. Of a schedule whose
/// iterations are short among others the governor sees the mean; of one with long ones, or alone, phases.
double excess_at(double clock_share, const std::vector<std::unique_ptr<Simulation>>& mix, const Power& power) {
  GovernedPower of_mix{.limit_W = power.limit_W, .peak_limit_W = power.peak_limit_W};
  double eighth_powers = 0, time_us = 0;
  for_each_turn(clock_share, mix, [&](Simulation& one, const Attempt& attempt, double lasts_us) {
    const GovernedPower governed = one.governed_power(attempt, PowerChanges(one.power_spans(attempt), attempt.time_us));
    const bool sees_mean = mix.size() > 1 && attempt.time_us < governor_memory_us(power);
    of_mix.mean_W += lasts_us * (sees_mean ? attempt.power_W : governed.mean_W);
    eighth_powers += lasts_us * eighth_power(governed.peak_W);
    time_us += lasts_us;
  });
  of_mix.mean_W /= time_us;
  of_mix.peak_W = eighth_root(eighth_powers / time_us);
  return of_mix.excess();
}

/// Mean clock over the turns, as a share of the maximum.
double mean_share_at(double clock_share, const std::vector<std::unique_ptr<Simulation>>& mix) {
  double sum = 0, time_us = 0;
  for_each_turn(clock_share, mix, [&](Simulation& one, const Attempt& attempt, double lasts_us) {
    sum += lasts_us * one.mean_clock_share(attempt);
    time_us += lasts_us;
  });
  return sum / time_us;
}

}  // namespace

double clock_share_of_mix(const std::vector<std::unique_ptr<Simulation>>& mix, const Power& power) {
  constexpr double high = 1, low = lowest_clock_share;
  const double over = excess_at(high, mix, power) - 1;
  if (over <= 0) return high;
  const double under = excess_at(low, mix, power) - 1;
  if (under >= 0) return low;
  FalsePosition ends({high, over}, {low, under});
  double share = low;
  for (int round = 0; round < most_rounds && ends.width() > alike; ++round) {
    share = ends.next();
    const double excess = excess_at(share, mix, power) - 1;
    if (std::abs(excess) < agreement_of_power) break;
    ends.see({share, excess});
  }
  return share;
}

/// By halving: where some schedule waits on links alone, the mean hardly moves.
double clock_share_of_mean(const std::vector<std::unique_ptr<Simulation>>& mix, double mean_share) {
  double high = 1, low = lowest_clock_share;
  if (mean_share_at(high, mix) <= mean_share) return high;
  while (high - low > alike) {
    const double share = (low + high) / 2;
    (mean_share_at(share, mix) > mean_share ? high : low) = share;
  }
  return low;
}

}  // namespace weft::sim
