// Published times of collectives beside the predicted ones.
#pragma once

#include "models/machine/machine.hpp"
#include "models/report/report.hpp"

namespace weft::calibration::report {

/// A row for each curve that the profile or calibration/published has, or for each of their points. Throws InputError,
/// file and line, for a file of curves that is wrong.
weft::report::Table curves_of(const Machine& machine, bool every_point);

}  // namespace weft::calibration::report
