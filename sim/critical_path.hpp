// What a finished run looked like: its spans, and what its time went to.
#pragma once

#include "models/execution/trace.hpp"
#include "sim/schedule_run.hpp"

namespace weft::sim {

/// Spans of one iteration (none without `spans`) and `limited_by`: walking back from the operation that ended last,
/// always to what let an operation start, the kind of limit that most of that time belongs to.
Trace trace_of(ScheduleRun& run, const Schedule& schedule, int ranks, int iteration, bool spans);

}  // namespace weft::sim
