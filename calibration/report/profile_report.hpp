// Which numbers of a profile changed.
#pragma once

#include "calibration/evidence/calibration.hpp"
#include "models/report/report.hpp"

namespace weft::calibration::report {

/// Of a profile that was fitted to measurements: a row for each number, before and now.
weft::report::Report calibrated_report(const evidence::CalibratedProfile& profile);

/// Of a profile that new_profile() made: the same with the sources, and what is said of all other numbers.
weft::report::Report new_profile_report(const evidence::CalibratedProfile& profile);

}  // namespace weft::calibration::report
