// Traces as tables.
#pragma once

#include <string>

#include "models/execution/trace.hpp"
#include "models/execution/trace_comparison.hpp"
#include "models/report/report.hpp"

namespace weft::report {

/// One section: what GPU 0 did, span by span. The JSON is the whole trace, weft.trace/1.
Report trace_report(const Trace& trace);

/// What the two runs of a comparison are called.
struct RunNames {
  std::string first = "predicted", second = "measured", difference = "error";
};

/// One section: two runs, operation by operation, and the whole iteration.
Report comparison_report(const TraceComparison& comparison, const RunNames& names = {});

}  // namespace weft::report
