// What weft validate prints.
#pragma once

#include "calibration/evidence/accuracy_report.hpp"
#include "models/report/report.hpp"

namespace weft::calibration::report {

/// A section for each table and one for the choices.
std::vector<weft::report::Section> sections_of(const evidence::AccuracyReport& report);
/// A row for each case.
weft::report::Section section_of(const std::vector<evidence::Comparison>& comparisons);
/// A row for each target.
weft::report::Section section_of(const std::vector<evidence::TargetResult>& results);

}  // namespace weft::calibration::report
