// Are all conflicting accesses ordered, whatever the operations' durations?
//
// Two accesses conflict when they touch the same bytes of one rank's memory and at least one writes. They must be
// ordered by streams, points, counters or barriers, over all ranks and two consecutive iterations: on one rank an
// iteration ends before the next starts, but ranks only meet where the schedule says so. What counts as order:
//
//  * a barrier, or a collective, starts on every rank before it ends on any; ranks match by launch order;
//  * a grouped exchange starts on rank r - i before it ends on rank r, where every rank gets rows from its rank - i;
//  * `first_cta_started` and `all_ctas_started` order nothing but the start of their operation;
//  * a wait for a counter follows all signals where one iteration adds exactly what is waited for; else, where all
//    signals are operations of one stream of one rank, the first ones that add up to it; else nothing. A counter counts
//    the signals of its own iteration only.
#pragma once

#include <string>
#include <vector>

#include "models/schedule/schedule.hpp"

namespace weft {

/// `a` runs on rank `a_rank`, `b` on rank `b_rank`, `iterations_apart` (0 or 1) iterations later. Every rank is like
/// rank 0, so that is `a_rank`, unless rows differ by rank.
struct Race {
  OperationId a = 0, b = 0;
  int a_rank = 0, b_rank = 0;
  int buffer_rank = 0;  ///< whose memory it is
  BufferId buffer = 0;
  int iterations_apart = 0;
  std::string message;
};

/// One entry for each pair of operations, rank and buffer, in launch order; of more than 10,000 those that are found
/// first. Takes less than 1 GB for the largest schedule. The schedule must have passed validation.
std::vector<Race> find_races(const Schedule& schedule);

}  // namespace weft
