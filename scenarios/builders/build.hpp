// From a case to the schedule that its family name means.
#pragma once

#include "models/machine.hpp"
#include "models/schedule.hpp"
#include "scenarios/workload.hpp"

namespace weft::scenarios {

/// Throws InputError where the machine has too few GPUs or no fp8, the sizes cannot be cut as the family needs
/// ("workload.m"), or the family does not have the op ("schedule.family").
Schedule build(const Case& request, const Machine& machine);

/// The schedule of the case as build() makes it: what is "searched" there has its values here.
/// Throws InputError as build() does for sizes and machines.
ScheduleChoice with_searched_values(const Case& request, const Machine& machine);

}  // namespace weft::scenarios
