// What a lower clock saves, and how much of a timed run the power governor slows down.
#pragma once

#include "models/machine/machine.hpp"

namespace weft {

/// No governor goes lower for lack of power.
inline constexpr double lowest_clock_share = 0.3;

/// Energy of the same work on the SMs with their clock at a share of its maximum, over that at the maximum: the square
/// of the voltage.
double switching_energy_factor(const Power& power, double clock_share);

/// How late the governor follows on average, so that it sees the phases of an iteration that is long beside this by
/// themselves. 0: it sees an iteration as a whole.
double governor_memory_us(const Power& power);

/// Share of the slowdown that the median timed run shows (models/execution/timing_protocol.hpp), when a GPU that was
/// not under its power limit before takes a load above it, with iterations of `iteration_us` at the maximum clock: the
/// mean, over the middle run, of a ramp that begins after the governor's delay. Short runs end before the governor
/// acts: 0; long iterations or a governor without delay: 1.
double throttled_share(const Power& power, double iteration_us);

}  // namespace weft
