// Energy of one iteration on one GPU, from what the schedule says must be done.
#pragma once

#include "models/machine.hpp"
#include "models/schedule.hpp"

namespace weft::sim {

/// No governor goes lower for lack of power.
inline constexpr double lowest_clock_share = 0.3;

/// Idle power plus the energy of all operations over the iteration's time; dynamic energy scales with
/// clock_share ^ power.clock_exponent.
double mean_power_W(const Schedule& schedule, const Machine& machine, double clock_share, double time_us);

}  // namespace weft::sim
