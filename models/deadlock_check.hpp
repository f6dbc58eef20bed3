// Can the schedule run to its end, if operations take any time and nothing but order holds them back?
#pragma once

#include "models/schedule.hpp"

namespace weft {

/// Runs one iteration in the abstract: streams in order, points, counters and barriers, but no SMs and no times. All
/// ranks run the same program from the same state and nothing that happens takes a permission away, so they get
/// equally far: what one rank signals to its peer, it gets from another peer, and one rank stands for all. Throws
/// InputError that names a stuck operation, its stream, what it waits for and who will never deliver it. Ids must be
/// in range.
void check_deadlock(const Schedule& schedule);

}  // namespace weft
