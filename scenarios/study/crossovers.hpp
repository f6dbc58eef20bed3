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

/// The same for 2, 4, 8, … of the machine's GPUs: those of `known`, which was asked with the scenario's GPUs, and of
/// the schedules that have a name for the others. By number of GPUs, then by pattern. The GEMMs of plain sizes are the
/// same on any number of GPUs.
std::vector<Crossover> crossovers(const Scenario& scenario, const Exploration& known, const Machine& machine,
                                  Executor& executor, Rule rule);

/// By number of GPUs.
struct Widths {
  std::vector<Crossover> crossovers;  ///< then by pattern
  std::vector<Gain> gains;            ///< then as gains_of() has them
};

/// crossovers(), and what overlap gains, for which every schedule has to be looked at.
Widths over_widths(const Scenario& scenario, const Exploration& known, const Machine& machine, Executor& executor,
                   Rule rule);

}  // namespace weft::scenarios::study
