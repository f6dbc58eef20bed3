// The clock at which a simulation's power meets the limit.
#pragma once

#include "sim/simulation.hpp"

namespace weft::sim {

/// Of power and its limit: as good as GPUs set their clocks, in steps of 15 MHz.
inline constexpr double agreement_of_power = 4e-3;

/// Near the clock that the power limit allows, before there is a run; 1: nothing seems to be above the limit.
double guessed_clock_share(Simulation& simulation);

/// The attempt at the clock that the power limit allows, from one at the highest clock or at a guess.
Attempt at_power_limit(Simulation& simulation, Attempt attempt);

}  // namespace weft::sim
