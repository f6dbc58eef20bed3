// What weft validate prints.
#pragma once

#include "calibration/evidence/accuracy_report.hpp"
#include "tools/report/report.hpp"
#include "tools/rooms.hpp"

namespace weft::tools::report {

/// A section for each table and one for the choices.
std::vector<Section> sections_of(const evidence::AccuracyReport& report);
/// A row for each case.
Section section_of(const std::vector<evidence::Comparison>& comparisons);
/// A row for each target.
Section section_of(const std::vector<evidence::TargetResult>& results);

}  // namespace weft::tools::report
