// What the schedules of an answer lose time to: a dozen simulations each, so only of those that are shown.
#pragma once

#include <string>
#include <vector>

#include "models/base/progress.hpp"
#include "models/machine/machine.hpp"
#include "scenarios/study/clock.hpp"
#include "scenarios/study/exploration.hpp"

namespace weft::scenarios::study {

/// Which schedules are asked for their losses, besides the winner and serial.
struct Why {
  bool all = false;
  std::string id = {};  ///< of one, as in the ranking
};

/// Fills in the losses of the schedules asked for, and the inefficiencies of FiCCO's with the library's number of CTAs;
/// on all cores. What is known already is not asked again. `machine`: of the exploration.
void explain(const std::vector<Answer*>& answers, const Machine& machine, const Clock& clock, const Why& why = {},
             const Progress& progress = {});

}  // namespace weft::scenarios::study
