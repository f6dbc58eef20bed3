// The clock at which a simulation's power meets the limit.
#pragma once

#include <optional>

#include "sim/simulation.hpp"

namespace weft::sim {

/// The attempt at the clock that the power limit allows, from one at the highest clock; nothing where that one is
/// within the limit.
std::optional<Attempt> at_power_limit(Simulation& simulation, const Attempt& at_highest_clock);

}  // namespace weft::sim
