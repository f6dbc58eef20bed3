#include "sim/power_limit.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "models/cost/governor.hpp"
#include "sim/false_position.hpp"

namespace weft::sim {
namespace {

// A cycle is the reciprocal of a clock's share of the maximum.
constexpr int most_runs = 16, estimates_alone = 5;  // after the first
constexpr int most_steps = 32;                      // of an estimate, which takes six as a rule
constexpr double alike_cycles = 4e-3;               // relative: half of the 15 MHz in which GPUs set their clocks
constexpr double estimated_to = 3e-4;               // of the maximum clock's cycle, or of power
constexpr double most_tilt = 0.5;

/// The governed power at every clock, as well as a sketch or runs at some of them tell. With a longer cycle the phases
/// in which tensor cores work get longer by what their kernels would alone, and the others stay as they are; the energy
/// of an iteration is known for each clock. What else changes with the clock shows in the difference between the last
/// two runs.
class PowerByCycle {
 public:
  PowerByCycle(Simulation& simulation, const Sketch& sketch)
      : simulation_(simulation), changes_(sketch.spans, sketch.time_us) {
    see({.time_us = sketch.time_us, .power_W = sketch.power_W});
  }
  PowerByCycle(Simulation& simulation, const Attempt& attempt)
      : simulation_(simulation), changes_(simulation.power_spans(attempt), attempt.time_us) {
    see(attempt);
  }

  void look_at(const Attempt& attempt) {
    cycle_before_ = cycle_, excess_before_ = excess();
    changes_ = PowerChanges(simulation_.power_spans(attempt), attempt.time_us);
    see(attempt);
  }
  /// From the run or sketch that it was made of.
  void begin_estimates() { take_as_reference(); }
  /// From the two runs that it has looked at last.
  void learn() {
    take_as_reference();
    tilt_ = std::clamp((excess_before_ / excess(cycle_before_) - 1) / (cycle_before_ - cycle_), -most_tilt, most_tilt);
  }

  /// Of the last run, and its power over the limit.
  double cycle() const { return cycle_; }
  double excess() const { return power_.excess(); }
  /// Between these bounds; the longest where power is above the limit even there, the shortest where nothing is
  /// estimated (NaN), as without energy on tensor cores.
  double cycle_at_limit(double shortest, double longest) const {
    const double above = excess(shortest) - 1, below = excess(longest) - 1;
    if (below > 0) return longest;
    if (!(above > 0)) return shortest;
    FalsePosition ends({shortest, above}, {longest, below});
    for (int step = 0; step < most_steps && ends.width() > estimated_to; ++step) {
      const double cycle = ends.next(), here = excess(cycle) - 1;
      if (std::abs(here) < estimated_to) return cycle;
      ends.see({cycle, here});
    }
    return ends.negative();
  }

 private:
  void see(const Attempt& attempt) {
    power_ = simulation_.governed_power(attempt, changes_);
    cycle_ = 1 / simulation_.tensor_clock_share(attempt.clock_share);
  }

  void take_as_reference() {
    steps_ = changes_.steps(0);
    tensor_us_ = tensor_uJ_ = 0;
    for (std::size_t i = 1; i < steps_.size(); ++i) {
      if (steps_[i - 1].on_tensor_cores == 0) continue;
      tensor_us_ += steps_[i].from_us - steps_[i - 1].from_us;
      tensor_uJ_ += (steps_[i].from_us - steps_[i - 1].from_us) * steps_[i - 1].power_W;
    }
    reference_ = simulation_.energy(1 / cycle_);
    tilt_ = 0;
    estimated_ = estimated(cycle_);
  }

  double excess(double cycle) const {
    GovernedPower there = estimated(cycle);
    there.mean_W *= power_.mean_W / estimated_.mean_W;
    there.peak_W *= power_.peak_W / estimated_.peak_W;
    return there.excess() * (1 + tilt_ * (cycle - cycle_));
  }

  GovernedPower estimated(double cycle) const {
    const EnergyAtClock there = simulation_.energy(1 / cycle);
    const double longer = 1 + (there.lone_us - reference_.lone_us) / tensor_us_;
    const double more = (1 + (there.total_uJ - reference_.total_uJ) / tensor_uJ_) / longer;  // power above idle
    double time_us = 0, energy_uJ = 0, eighth_powers = 0;
    for (std::size_t i = 1; i < steps_.size(); ++i) {
      const auto [from_us, power_W, on_tensor_cores] = steps_[i - 1];
      const double lasts_us = (steps_[i].from_us - from_us) * (on_tensor_cores > 0 ? longer : 1);
      const double above_idle_W = power_W * (on_tensor_cores > 0 ? more : 1);
      time_us += lasts_us;
      energy_uJ += lasts_us * above_idle_W;
      eighth_powers += lasts_us * eighth_power(power_.idle_W + above_idle_W);
    }
    GovernedPower power = power_;
    power.mean_W = power.idle_W + energy_uJ / time_us;
    power.peak_W = eighth_root(eighth_powers / time_us);
    return power;
  }

  Simulation& simulation_;
  // Of the last run.
  PowerChanges changes_;
  GovernedPower power_, estimated_;
  double cycle_ = 1;
  double cycle_before_ = 1, excess_before_ = 1;  // of the one before
  EnergyAtClock reference_;
  std::vector<PowerStep> steps_;          // above idle, of the run that is estimated from
  double tensor_us_ = 0, tensor_uJ_ = 0;  // while tensor cores work
  double tilt_ = 0;  // of the excess, for each cycle of the maximum clock, against what is estimated
};

}  // namespace

double guessed_clock_share(Simulation& simulation) {
  PowerByCycle power(simulation, simulation.sketch());
  if (power.excess() <= 1) return 1;
  power.begin_estimates();
  return 1 / power.cycle_at_limit(1 / simulation.tensor_clock_share(1), 1 / lowest_clock_share);
}

/// The governor is slower than a short iteration, so the clock is one number: the highest at which power stays within
/// the limit. Each run is at the clock that is estimated from those before, between what is known to be too high and
/// low enough: at a guess that is near none or one is enough for most, unless copies of several ranks meet by chance.
/// Then power jumps up and down from one clock to the next, and halvings find one of the jumps over the limit.
Attempt at_power_limit(Simulation& simulation, Attempt attempt) {
  double shortest = 1 / simulation.tensor_clock_share(1), longest = 1 / lowest_clock_share;
  bool may_be_highest = true;  // nothing has been above the limit
  PowerByCycle power(simulation, attempt);
  for (int run = 0;; ++run) {
    const bool is_highest = attempt.clock_share == 1, is_above = power.excess() > 1;
    attempt.is_power_limited = is_above || !is_highest;
    const bool agrees = std::abs(power.excess() - 1) < agreement_of_power;
    if (is_highest ? !is_above : agrees) return attempt;
    (is_above ? shortest : longest) = power.cycle();
    may_be_highest = may_be_highest && !is_above;
    const bool are_alike = longest - shortest <= alike_cycles * shortest;
    if (run == most_runs || (are_alike && !may_be_highest)) return attempt;
    run == 0 ? power.begin_estimates() : power.learn();
    double cycle = power.cycle_at_limit(shortest, longest);
    const bool is_shortest = cycle - shortest <= estimated_to;
    const bool halves = run >= estimates_alone && run % 2 != 0;
    if (cycle == longest || (is_shortest && !may_be_highest) || halves) cycle = (shortest + longest) / 2;
    attempt = simulation.run(may_be_highest && (is_shortest || are_alike) ? 1 : 1 / cycle);
    power.look_at(attempt);
  }
}

}  // namespace weft::sim
