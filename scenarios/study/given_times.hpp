// Predictions that build on times which the user measured.
#pragma once

#include <functional>

#include "models/machine/machine.hpp"
#include "models/schedule/schedule.hpp"
#include "scenarios/workload.hpp"

namespace weft::scenarios::study {

/// How long a schedule takes on a machine, in microseconds.
using TimeOfSchedule = std::function<double(const Schedule&, const Machine&)>;

/// The machine on which the whole GEMM alone takes the time that the user measured, at the same power, and links are
/// as fast as the measured collective says.
Machine with_given_times(const scenarios::Case& request, const Machine& machine, const TimeOfSchedule& time_us);

}  // namespace weft::scenarios::study
