// What the answers of a sweep say together.
#pragma once

#include "models/report/report.hpp"
#include "scenarios/study/sweep_findings.hpp"

namespace weft::scenarios::report {

/// A row for each machine, number of GPUs and op: how often another schedule than serial is the fastest, and its gain.
weft::report::Section summary_of(study::SweepFindings& findings);

/// A row for each schedule that no other one of the same work beats in time, GPUs and energy.
weft::report::Section pareto_of(study::SweepFindings& findings);

}  // namespace weft::scenarios::report
