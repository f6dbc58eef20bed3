// The clock at which a simulation's power meets the limit.
#pragma once

#include <optional>

#include "sim/simulation.hpp"

namespace weft::sim {

/// Of power and its limit.
inline constexpr double agreement_of_power = 1e-3;

/// The attempt at the clock that the power limit allows, from one at the highest clock; nothing where that one is
/// within the limit.
std::optional<Attempt> at_power_limit(Simulation& simulation, const Attempt& at_highest_clock);

}  // namespace weft::sim
