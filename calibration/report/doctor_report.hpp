// What a machine can run, and why not the rest.
#pragma once

#include "calibration/doctor.hpp"
#include "models/report/report.hpp"

namespace weft::calibration::report {

/// A row for each schedule that was tried. JSON: {"notes", "schedules": [{"gpus", "schedule", "runs", "time_us" and
/// "checked", or "error"}], "conditions"}.
weft::report::Report doctor_report(const Findings& findings);

}  // namespace weft::calibration::report
