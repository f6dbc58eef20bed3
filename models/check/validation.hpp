// Is this schedule one that can run? What a reader of JSON cannot see.
#pragma once

#include "models/schedule/schedule.hpp"

namespace weft {

/// Throws InputError for the first problem: names, ids and sizes out of range, slices beyond their buffers, shapes that
/// do not fit, edges that point forward, waits that are never satisfied, and a deadlock, found by running all ranks in
/// the abstract (no times, no SMs).
void validate(const Schedule& schedule);

}  // namespace weft
