// What ran on GPUs, and how long it took.
#pragma once

#include <string>
#include <vector>

#include "calibration/evidence/choice_by_running.hpp"
#include "calibration/lone_measurement.hpp"
#include "models/report/report.hpp"

namespace weft::calibration::report {

/// The kernels of one iteration on GPU 0, its time and whether its result was right. JSON: "schedule", what to_json()
/// has of the measurement, "kernels" and "conditions". `schedule`: its name.
weft::report::Report measured_report(const std::string& schedule, const LoneMeasurement& result);

/// Of ranks that share GPUs: whether the result is right, and no time.
weft::report::Report shared_report(const Schedule& schedule, const LoneMeasurement& result);

/// A row for each schedule that ran in turns. JSON: {"pairs", "conditions"}.
weft::report::Report tried_report(const std::vector<evidence::TriedPair>& pairs, const Conditions& conditions);

}  // namespace weft::calibration::report
