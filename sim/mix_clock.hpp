// The clock of a mix: schedules that take turns under one sustained load run at one clock, which is that of none of
// them alone. Whoever works harder in a mix has a higher clock there than under its own load, so that speedups
// in turn differ from those of each one's own steady state.
#pragma once

#include <memory>
#include <vector>

#include "models/machine/machine.hpp"
#include "sim/simulation.hpp"

namespace weft::sim {

/// Share of the maximum clock that the power limit leaves to a mix: the highest at which its governed power is within
/// the limit, where each schedule fills its turn (turn_ms in models/execution/timing_protocol.hpp) with whole
/// iterations. At least lowest_clock_share.
double clock_share_of_mix(const std::vector<std::unique_ptr<Simulation>>& mix, const Power& power);

/// The same share where it is the mean clock that is known, `mean_share` of the maximum over such turns: that is higher
/// than the clock while tensor cores work, since it goes up between (Simulation::mean_clock_share()).
double clock_share_of_mean(const std::vector<std::unique_ptr<Simulation>>& mix, double mean_share);

}  // namespace weft::sim
