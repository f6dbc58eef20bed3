// From a case to the schedule that its family name means.
#pragma once

#include <vector>

#include "models/machine/machine.hpp"
#include "models/schedule/schedule.hpp"
#include "scenarios/workload.hpp"

namespace weft::scenarios::families {

/// Whether a search has to say something of the schedule first: its groups, split or stages, or its family.
bool is_open(const ScheduleChoice& choice);

/// What an open choice stands for: the schedules that are worth running, the one that a model likes best first. A
/// closed choice stands for itself. Throws InputError as build() does for sizes and machines, and for family best,
/// which stands for the candidates() of its workload (search.hpp).
std::vector<ScheduleChoice> closed_choices(const Case& request, const Machine& machine);

/// Throws InputError where the machine has too few GPUs or no fp8, the sizes cannot be cut as the family needs
/// ("workload.m"), the family does not have the op ("schedule.family"), or a choice is open ("schedule"): settle()
/// (study/settle.hpp) makes those.
Schedule build(const Case& request, const Machine& machine);

}  // namespace weft::scenarios::families
