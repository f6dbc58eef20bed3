// From which size on overlap pays, pattern by pattern and for every number of GPUs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/study/exploration.hpp"
#include "scenarios/study/gains.hpp"

namespace weft::scenarios::study {

struct Crossover {
  std::string pattern;  ///< a pair of the layer, or the whole layer
  int gpus = 1;
  std::optional<std::int64_t> pays_from;  ///< empty: not at the largest size
  std::string reason = {};                ///< why there is no answer for so many GPUs
};

/// What the advice of an exploration says of each of its patterns.
std::vector<Crossover> crossovers_of(const Exploration& exploration, int gpus);

/// By number of GPUs.
struct Widths {
  std::vector<Crossover> crossovers;  ///< then by pattern
  std::vector<Gain> gains;            ///< then as gains_of() has them
};

/// The same for 2, 4, 8, … of the machine's GPUs: those of `known`, which was asked with the scenario's GPUs, and of
/// the schedules that have a name for the others. The GEMMs of plain sizes are the same on any number of GPUs.
Widths over_widths(const Scenario& scenario, const Exploration& known, const Machine& machine, Executor& executor,
                   const ExploreOptions& options);

}  // namespace weft::scenarios::study
