// From a case to the schedule that its family name means.
#pragma once

#include <functional>

#include "models/machine/machine.hpp"
#include "models/schedule/schedule.hpp"
#include "scenarios/workload.hpp"

namespace weft::scenarios::families {

/// Throws InputError where the machine has too few GPUs or no fp8, the sizes cannot be cut as the family needs
/// ("workload.m"), or the family does not have the op ("schedule.family").
Schedule build(const Case& request, const Machine& machine);

/// The schedule of the case as build() makes it: what is "searched" there has its values here. Where a search ends with
/// several candidates, `time_us` decides between them, such as a simulation of each; without it build()'s own choice is
/// the one that its model likes best. Throws InputError as build() does for sizes and machines.
using TimeOfCase = std::function<double(const Case&)>;
ScheduleChoice with_searched_values(const Case& request, const Machine& machine, const TimeOfCase& time_us = {});

}  // namespace weft::scenarios::families
