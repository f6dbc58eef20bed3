// Energy of one iteration on one GPU, from what the schedule says must be done.
#pragma once

#include "models/machine/machine.hpp"
#include "models/schedule/schedule.hpp"
#include "sim/operation_cost.hpp"

namespace weft::sim {

/// No governor goes lower for lack of power.
inline constexpr double lowest_clock_share = 0.3;

/// Energy of all operations, without what the GPU takes idle.
double dynamic_energy_uJ(const Schedule& schedule, const Machine& machine, const std::vector<OperationCost>& costs);

/// Idle power plus dynamic energy over the iteration's time. An operation is taken to cost the same energy at every
/// clock: a lower one saves power because that energy is spread over more time.
double mean_power_W(const Power& power, double dynamic_energy_uJ, double time_us);

}  // namespace weft::sim
