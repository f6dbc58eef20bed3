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

std::vector<Crossover> crossovers(const Scenario& scenario, const Exploration& known, const Machine& machine,
                                  Executor& executor, const ExploreOptions& options) {
  std::vector<Crossover> all;
  for (int gpus = 2; gpus <= machine.gpus; gpus *= 2) {
    std::vector<Crossover> some;
    if (gpus == scenario.gpus) {
      some = crossovers_of(known, gpus);
    } else {
      Scenario other = scenario;
      other.gpus = gpus;
      try {
        check_questions(other);
        some = crossovers_of(explore(other, machine, executor, {.rule = options.rule}), gpus);
      } catch (const InputError& error) {
        for (const std::string& pattern : known.pairs()) some.push_back({pattern, gpus, {}, error.what()});
      }
    }
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

}  // namespace weft::scenarios::study
