#include "scenarios/study/crossovers.hpp"

#include <functional>

#include "models/base/input_error.hpp"

namespace weft::scenarios::study {
namespace {

using Answered = std::function<void(const Exploration&, const Scenario&)>;
using Refused = std::function<void(int gpus, const InputError&)>;

/// On 2, 4, 8, … GPUs; with the scenario's it is known.
void explore_widths(const Scenario& scenario, const Exploration& known, const Machine& machine, Executor& executor,
                    const ExploreOptions& options, const Answered& answered, const Refused& refused) {
  for (int gpus = 2; gpus <= machine.gpus; gpus *= 2) {
    if (gpus == scenario.gpus) {
      answered(known, scenario);
      continue;
    }
    Scenario other = scenario;
    other.gpus = gpus;
    try {
      check_questions(other);
      answered(explore(other, machine, executor, options), other);
    } catch (const InputError& error) {
      refused(gpus, error);
    }
  }
}

void add_crossovers(const Exploration& exploration, int gpus, std::vector<Crossover>& all) {
  for (Crossover& one : crossovers_of(exploration, gpus)) all.push_back(std::move(one));
}

void add_reasons(const Exploration& known, int gpus, const InputError& error, std::vector<Crossover>& all) {
  for (const std::string& pattern : known.pairs()) all.push_back({pattern, gpus, {}, error.what()});
}

}  // namespace

std::vector<Crossover> crossovers_of(const Exploration& exploration, int gpus) {
  std::vector<Crossover> found;
  for (const std::string& pattern : exploration.pairs()) {
    std::vector<SizeVerdict> sizes;
    for (const Answer& answer : exploration.answers)
      if (answer.pair == pattern && answer.ranking.may_overlap())
        sizes.push_back({answer.size, answer.ranking.overlaps()});
    found.push_back(
        {pattern, gpus, crossover(sizes), sizes.empty() ? "no schedule that overlaps fits so many rows" : ""});
  }
  return found;
}

std::vector<Crossover> crossovers(const Scenario& scenario, const Exploration& known, const Machine& machine,
                                  Executor& executor, Rule rule) {
  std::vector<Crossover> all;
  explore_widths(
      scenario, known, machine, executor, {.rule = rule, .grades = known.grades, .until_it_pays_like = &known},
      [&](const Exploration& exploration, const Scenario& asked) { add_crossovers(exploration, asked.gpus, all); },
      [&](int gpus, const InputError& error) { add_reasons(known, gpus, error, all); });
  return all;
}

Widths over_widths(const Scenario& scenario, const Exploration& known, const Machine& machine, Executor& executor,
                   Rule rule) {
  Widths all;
  explore_widths(
      scenario, known, machine, executor, {.rule = rule, .grades = known.grades},
      [&](const Exploration& exploration, const Scenario& asked) {
        add_crossovers(exploration, asked.gpus, all.crossovers);
        for (Gain& one : gains_of(exploration, asked, machine)) all.gains.push_back(std::move(one));
      },
      [&](int gpus, const InputError& error) { add_reasons(known, gpus, error, all.crossovers); });
  return all;
}

}  // namespace weft::scenarios::study
