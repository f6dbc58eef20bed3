// The clocks of an iteration's operations under a governor that is quicker than the iteration.
#pragma once

#include "sim/simulation.hpp"

namespace weft::sim {

/// From the attempt at the one clock that the power limit allows: one with a clock for each operation on tensor cores,
/// the highest at which the power that the governor remembers (governor_memory_us()) is within the limit when the
/// operation ends, so that attention runs faster than the GEMMs before it that draw more: to a hundredth, or as near as
/// eight runs come. Operations that are short beside the memory keep the one clock, longer ones are the nearer to one
/// of their own. All keep the one where the limit of peaks, which is of a whole iteration, is known, and all are nearer
/// to it where the average would be more than a tenth above the limit inside of some operation.
Attempt at_clocks_of_phases(Simulation& simulation, Attempt at_one_clock);

}  // namespace weft::sim
