// What a paper claims, beside what the simulator says of it.
#pragma once

#include <vector>

#include "calibration/evidence/reproduction.hpp"
#include "models/report/report.hpp"

namespace weft::calibration::report {

/// A row for each claim, why those that do not hold may not, and what is not simulated. `verdicts`: of the file's
/// claims, in their order. The JSON is to_json() of both.
weft::report::Report claims_report(const evidence::ClaimFile& file, const std::vector<evidence::Verdict>& verdicts);

}  // namespace weft::calibration::report
