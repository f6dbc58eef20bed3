#include "sim/mix_clock.hpp"

#include <algorithm>
#include <cmath>

#include "models/cost/governor.hpp"
#include "models/execution/timing_protocol.hpp"
#include "sim/power_limit.hpp"

namespace weft::sim {
namespace {

constexpr int most_rounds = 12;
constexpr double alike = 2e-3;  // of the maximum clock: a quarter of the 15 MHz in which GPUs set their clocks

/// How long a schedule is at work in each turn.
double turn_us(double iteration_us) { return iteration_us * std::max(1.0, std::floor(turn_ms * 1e3 / iteration_us)); }

/// Of a quantity that `in_its_turn` gives for each schedule, times `lasts_us`, the length of its turn.
template <class InItsTurn>
double mean_over_turns(double clock_share, const std::vector<std::unique_ptr<Simulation>>& mix,
                       const InItsTurn& in_its_turn) {
  double sum = 0, time_us = 0;
  for (const std::unique_ptr<Simulation>& one : mix) {
    const Attempt attempt = one->run(clock_share);
    const double lasts_us = turn_us(attempt.time_us);
    sum += in_its_turn(*one, attempt, lasts_us);
    time_us += lasts_us;
  }
  return sum / time_us;
}

/// Power of the mix over the limit, as the governor sees it: the mean over the turns, or their root mean square.
double excess_at(double clock_share, const std::vector<std::unique_ptr<Simulation>>& mix, const Power& power) {
  const bool is_mean = mix.front()->governs_mean_power();
  const double mean = mean_over_turns(clock_share, mix, [&](Simulation& one, const Attempt& attempt, double lasts_us) {
    const PowerChanges changes(one.power_spans(attempt), attempt.time_us);
    const double governed_W = one.governed_power(attempt, changes).governed_W();
    return lasts_us * governed_W * (is_mean ? 1 : governed_W);
  });
  return (is_mean ? mean : std::sqrt(mean)) / power.limit_W;
}

/// Mean clock over the turns, as a share of the maximum.
double mean_share_at(double clock_share, const std::vector<std::unique_ptr<Simulation>>& mix) {
  return mean_over_turns(clock_share, mix, [](Simulation& one, const Attempt& attempt, double lasts_us) {
    return lasts_us * one.mean_clock_share(attempt);
  });
}

}  // namespace

/// By false position, in which an end that stays counts for half the next time (the Illinois rule).
double clock_share_of_mix(const std::vector<std::unique_ptr<Simulation>>& mix, const Power& power) {
  double high = 1, low = lowest_clock_share;
  double over = excess_at(high, mix, power) - 1;
  if (over <= 0) return high;
  double under = excess_at(low, mix, power) - 1;
  if (under >= 0) return low;
  double share = low;
  double before = 0;
  for (int round = 0; round < most_rounds && high - low > alike; ++round) {
    share = (low * over - high * under) / (over - under);
    const double excess = excess_at(share, mix, power) - 1;
    if (std::abs(excess) < agreement_of_power) break;
    (excess > 0 ? high : low) = share;
    (excess > 0 ? over : under) = excess;
    if (excess * before > 0) (excess > 0 ? under : over) /= 2;  // the other end stayed once more
    before = excess;
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
