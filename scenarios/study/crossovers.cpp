#include "scenarios/study/crossovers.hpp"

#include "models/base/input_error.hpp"

namespace weft::scenarios::study {

std::vector<Crossover> crossovers_of(const Exploration& exploration, int gpus) {
  std::vector<Crossover> found;
  for (const std::string& pattern : exploration.pairs()) {
    std::vector<SizeVerdict> sizes;
    for (const Answer& answer : exploration.answers)
      if (answer.pair == pattern) sizes.push_back({answer.size, answer.ranking.overlap_pays()});
    found.push_back({pattern, gpus, crossover(sizes)});
  }
  return found;
}

Widths over_widths(const Scenario& scenario, const Exploration& known, const Machine& machine, Executor& executor,
                   const ExploreOptions& options) {
  Widths all;
  const auto add = [&](const Exploration& exploration, const Scenario& asked) {
    for (Crossover& one : crossovers_of(exploration, asked.gpus)) all.crossovers.push_back(std::move(one));
    for (Gain& one : gains_of(exploration, asked, machine)) all.gains.push_back(std::move(one));
  };
  for (int gpus = 2; gpus <= machine.gpus; gpus *= 2) {
    if (gpus == scenario.gpus) {
      add(known, scenario);
      continue;
    }
    Scenario other = scenario;
    other.gpus = gpus;
    try {
      check_questions(other);
      add(explore(other, machine, executor, {.rule = options.rule}), other);
    } catch (const InputError& error) {
      for (const std::string& pattern : known.pairs()) all.crossovers.push_back({pattern, gpus, {}, error.what()});
    }
  }
  return all;
}

}  // namespace weft::scenarios::study
