// FiCCO's own rule beside the simulator's choice among FiCCO's schedules.
#pragma once

#include "models/machine/machine.hpp"
#include "scenarios/study/exploration.hpp"

namespace weft::scenarios::study {

/// Pointers are into the answer.
struct FiccoChoice {
  ScheduleChoice rule;
  const Explored* by_rule = nullptr;  ///< null: no candidate, such as one whose rows cannot be cut
  const Explored* fastest = nullptr;  ///< null: the pair has no schedule of FiCCO at all, and no rule
};

FiccoChoice ficco_choice(const Answer& answer, const Machine& machine);

}  // namespace weft::scenarios::study
