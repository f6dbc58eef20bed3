#include "calibration/evidence/choice_by_running.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>
#include <utility>

#include "models/base/statistics.hpp"
#include "scenarios/case_json.hpp"
#include "scenarios/families/build.hpp"
#include "scenarios/study/in_turn.hpp"
#include "scenarios/study/prediction.hpp"
#include "scenarios/study/reference.hpp"

namespace weft::calibration::evidence {
namespace {

using scenarios::study::Explored;

TriedSchedule untried(const Explored& explored, const Machine& machine) {
  TriedSchedule tried{.request = explored.candidate.request, .predicted_us = explored.candidate.estimate.time_us};
  tried.request.schedule = explored.as_run;
  tried.schedule = scenarios::families::build(tried.request, machine);
  return tried;
}

constexpr int most_of_a_kind = 2;

/// What schedules have in common whose predictions err alike: running the third of a kind teaches little.
auto kind_of(const scenarios::ScheduleChoice& choice) {
  const auto* hybrid = std::get_if<scenarios::Hybrid>(&choice.family);
  return std::tuple(choice.family.index(), choice.collectives, hybrid ? std::optional(hybrid->trigger) : std::nullopt,
                    hybrid ? std::optional(hybrid->mover) : std::nullopt);
}

TriedPair pair_of(const scenarios::study::Answer& answer, int best, const Machine& machine) {
  TriedPair pair{.pair = answer.pair, .size = answer.size};
  const std::string serial = answer.ranking.reference().request.id;
  std::map<decltype(kind_of({})), int> of_kind;
  int others = 0;
  for (const Explored& one : answer.fastest_first) {
    if (!one.runnable) continue;
    const bool is_reference = one.candidate.request.id == serial;
    if (!is_reference && (others == best || ++of_kind[kind_of(one.as_run)] > most_of_a_kind)) continue;
    others += is_reference ? 0 : 1;
    pair.fastest_first.push_back(untried(one, machine));
    pair.fastest_first.back().is_reference = is_reference;
  }
  return pair;
}

/// All schedules of all pairs, one after the other.
std::vector<TriedSchedule*> all_of(std::vector<TriedPair>& pairs) {
  std::vector<TriedSchedule*> all;
  for (TriedPair& pair : pairs)
    for (TriedSchedule& tried : pair.fastest_first) all.push_back(&tried);
  return all;
}

void take(const Measurement& measurement, TriedSchedule& tried) {
  tried.measured_us = measurement.time_us;
  tried.noise = relative_spread(measurement.repeats_us);
  tried.checked = measurement.checked;
}

void rank(TriedPair& pair) {
  std::ranges::stable_sort(pair.fastest_first, {}, [](const TriedSchedule& tried) {
    return std::pair(!tried.error.empty(), tried.measured_us);
  });
  if (!pair.choice().error.empty()) throw ExecutionError(pair.pair + ": no schedule ran: " + pair.choice().error);
  for (const TriedSchedule& tried : pair.fastest_first)
    if (tried.is_reference) pair.serial_us = tried.measured_us;
}

}  // namespace

std::vector<TriedPair> worth_trying(const scenarios::study::Exploration& exploration, int best,
                                    const Machine& machine) {
  std::vector<TriedPair> pairs;
  for (const scenarios::study::Answer& answer : exploration.answers)
    if (TriedPair pair = pair_of(answer, best, machine); !pair.fastest_first.empty()) pairs.push_back(std::move(pair));
  return pairs;
}

void predict_in_turn(std::vector<TriedPair>& pairs, const Machine& machine, Executor& executor,
                     const scenarios::study::MixClock& clock_of_mix_MHz) {
  for (TriedPair& pair : pairs) {
    std::vector<scenarios::Case> mix;
    for (const TriedSchedule& tried : pair.fastest_first) mix.push_back(tried.request);
    mix = scenarios::study::in_turn(std::move(mix), machine, executor, clock_of_mix_MHz);
    for (std::size_t i = 0; i < mix.size(); ++i)
      pair.fastest_first[i].predicted_us =
          scenarios::study::predict(mix[i], machine, executor, {.serial = false}).time_us;
  }
}

Conditions run_all(std::vector<TriedPair>& pairs, const Machine& machine, RunOptions options,
                   const Progress& progress) {
  const std::vector<TriedSchedule*> all = all_of(pairs);
  std::vector<Schedule> schedules;
  for (const TriedSchedule* tried : all) {
    if (auto reference = scenarios::study::reference_of(tried->request, machine))
      options.references.emplace(schedules.size(), *std::move(reference));
    schedules.push_back(tried->schedule);
  }
  std::vector<Mix> mixes;
  for (std::size_t first = 0; const TriedPair& pair : pairs) {
    Mix& mix = mixes.emplace_back();
    for (std::size_t i = 0; i < pair.fastest_first.size(); ++i) mix.push_back(first++);
  }
  Conditions conditions;
  ProgressCounter done(progress, all.size());
  measure_in_turn(schedules, mixes, options,
                  {.on_conditions = [&](const Conditions& of_run) { conditions = of_run; },
                   .on_result =
                       [&](std::size_t index, const Measurement& measurement) {
                         take(measurement, *all[index]);
                         done.add();
                       },
                   .on_error =
                       [&](std::size_t index, const std::string& message) {
                         all[index]->error = message;
                         done.add();
                       }});
  std::ranges::for_each(pairs, rank);
  return conditions;
}

nlohmann::ordered_json to_json(const std::vector<TriedPair>& pairs) {
  auto json = nlohmann::ordered_json::array();
  for (const TriedPair& pair : pairs) {
    nlohmann::ordered_json& entry = json.emplace_back(
        nlohmann::ordered_json{{"pair", pair.pair}, {"size", pair.size}, {"serial_us", pair.serial_us}});
    entry["workload"] = scenarios::to_json(pair.choice().request.workload);
    entry["speedup"] = pair.speedup();
    entry["schedules"] = nlohmann::ordered_json::array();
    for (const TriedSchedule& tried : pair.fastest_first) {
      nlohmann::ordered_json one{{"id", tried.request.id},
                                 {"schedule", scenarios::to_json(tried.request.schedule)},
                                 {"predicted_us", tried.predicted_us}};
      if (tried.error.empty())
        one.update(nlohmann::ordered_json{{"measured_us", tried.measured_us},
                                          {"error_of_prediction", tried.predicted_us / tried.measured_us - 1},
                                          {"noise", tried.noise},
                                          {"checked", tried.checked}});
      else
        one["error"] = tried.error;
      entry["schedules"].push_back(one);
    }
  }
  return json;
}

}  // namespace weft::calibration::evidence
