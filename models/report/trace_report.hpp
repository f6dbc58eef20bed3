// Traces as tables.
#pragma once

#include "models/execution/trace.hpp"
#include "models/execution/trace_comparison.hpp"
#include "models/report/report.hpp"

namespace weft::report {

/// One section: what GPU 0 did, span by span. The JSON is the whole trace, weft.trace/1.
Report trace_report(const Trace& trace);

/// One section: a predicted and a measured run, operation by operation, and the whole iteration.
Report comparison_report(const TraceComparison& comparison);

}  // namespace weft::report
