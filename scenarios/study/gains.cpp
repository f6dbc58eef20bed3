#include "scenarios/study/gains.hpp"

#include <optional>

#include "scenarios/schedule_words.hpp"
#include "scenarios/study/odds.hpp"
#include "scenarios/study/verdict.hpp"

namespace weft::scenarios::study {
namespace {

constexpr double best_share = 0.95;  // as far from the middle as the worst of twenty

double best_gain(const Candidate& candidate, const Machine& machine) {
  const double serial_us = candidate.speedup * candidate.estimate.time_us;
  return shipped_ratio_errors().gain_at(
      best_share, predicted_ratio(candidate.request, candidate.speedup, serial_us, is_measured(machine)));
}

std::optional<Gain> gain_of(const Answer& answer, int gpus, const Machine& machine) {
  const Ranking& ranking = answer.ranking;
  const Candidate* best = nullptr;
  for (const Candidate& one : ranking.fastest_first)
    if (&one != &ranking.reference() && (best == nullptr || one.odds.gain > best->odds.gain)) best = &one;
  if (best == nullptr) return std::nullopt;
  if (ranking.overlap_pays()) best = &ranking.advice();
  return Gain{.pattern = answer.pair,
              .gpus = gpus,
              .size = answer.size,
              .schedule = words_of(best->request.schedule),
              .time_us = best->estimate.time_us,
              .serial_us = ranking.reference().estimate.time_us,
              .odds = best->odds,
              .best_gain = best_gain(*best, machine),
              .is_advised = ranking.overlap_pays()};
}

/// The gain of a plan differs between the worst and the best case by those of its schedules, each a share of the serial
/// time that it stands for.
Gain gain_of(const SizePlans& plans, int gpus, const Machine& machine) {
  Gain gain{.pattern = plan_pattern,
            .gpus = gpus,
            .size = plans.size,
            .schedule = plans.best.name,
            .time_us = plans.best.time_us,
            .serial_us = plans.baseline.time_us,
            .odds = plans.best.odds,
            .best_gain = plans.best.odds.worst_gain,
            .is_advised = plans.pays()};
  for (const auto& [pair, schedule] : plans.best.schedules) {
    const Candidate& one = schedule->candidate;
    const double serial_us = one.speedup * one.estimate.time_us;
    gain.best_gain += (best_gain(one, machine) - one.odds.worst_gain) * serial_us / plans.baseline.time_us;
  }
  return gain;
}

}  // namespace

std::vector<Gain> gains_of(const Exploration& exploration, const Scenario& scenario, const Machine& machine) {
  const Verdict verdict = verdict_of(exploration, scenario);
  std::vector<Gain> gains;
  for (const SizePlans& plans : verdict.sizes) {
    if (verdict.is_of_layers) gains.push_back(gain_of(plans, scenario.gpus, machine));
    for (const Answer& answer : exploration.answers)
      if (answer.size == plans.size)
        if (std::optional<Gain> gain = gain_of(answer, scenario.gpus, machine)) gains.push_back(std::move(*gain));
  }
  return gains;
}

}  // namespace weft::scenarios::study
