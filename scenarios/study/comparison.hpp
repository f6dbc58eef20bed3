// Several schedules of one workload, side by side.
#pragma once

#include <vector>

#include "models/machine/machine.hpp"
#include "scenarios/search.hpp"
#include "scenarios/study/prediction.hpp"

namespace weft::scenarios::study {

struct Comparison {
  Ranking ranking;                        ///< with the schedules as run
  std::vector<Prediction> fastest_first;  ///< as the ranking has them, without serial_us
};

/// The case under every schedule that its workload has by name; serial first.
std::vector<Case> named_cases(const Case& request, const Machine& machine);

/// `cases` differ in their schedules, have distinct ids, and serial is the first. `only_runnable` leaves out what weft
/// run cannot run today, but for serial. Throws InputError for a case that cannot be done.
Comparison compare(const std::vector<Case>& cases, const Machine& machine, Executor& executor,
                   bool only_runnable = false);

}  // namespace weft::scenarios::study
