// Can the schedule run to its end, if operations take any time and nothing but order holds them back?
#pragma once

#include "models/schedule/schedule.hpp"

namespace weft {

/// Runs one iteration in the abstract: streams in order, points, counters, barriers and, where the schedule says how
/// many there are (max_connections), hardware queues, but no SMs and no times: what needs those is found by simulating.
/// All ranks run the same program from the same state and nothing that happens takes a permission away, so they get
/// equally far: what one rank signals to its peer, it gets from another peer, and one rank stands for all. Throws
/// InputError that names the cycle: who waits for whom, and for what. Ids must be in range.
void check_deadlock(const Schedule& schedule);

/// Could every rank run one operation after the other, in the order of the list? Not where one waits for what stands
/// behind it, as a GEMM may whose rows are fetched beside it. Ids must be in range.
bool runs_one_by_one(const Schedule& schedule);

}  // namespace weft
