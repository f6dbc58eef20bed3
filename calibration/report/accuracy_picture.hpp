// Predictions against measurements as a picture.
#pragma once

#include <string>
#include <vector>

#include "calibration/evidence/accuracy.hpp"

namespace weft::calibration::report {

/// An SVG document: a dot for each case, predicted over measured time above measured time, both axes logarithmic, lines
/// at 1 and at 10 % more and less, a colour for each family; what lies outside of these says what it is. Throws
/// InputError where there is nothing to draw.
std::string accuracy_picture(const std::vector<evidence::Comparison>& comparisons);

}  // namespace weft::calibration::report
