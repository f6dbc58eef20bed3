// A trace as a table.
#pragma once

#include "models/execution/trace.hpp"
#include "tools/report/report.hpp"

namespace weft::tools::report {

/// One section: what GPU 0 did, span by span. The JSON is the whole trace, weft.trace/1.
Report trace_report(const Trace& trace);

}  // namespace weft::tools::report
