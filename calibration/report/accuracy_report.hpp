// How far predictions are from measurements.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "calibration/evidence/ablation.hpp"
#include "calibration/evidence/accuracy_report.hpp"
#include "models/report/report.hpp"

namespace weft::calibration::report {

/// Which measurements were compared, as each JSON begins: {"machine": its name, "files"}.
struct Source {
  std::string machine;
  std::vector<std::string> files;
};

/// A table for each way to group the cases and one of the choices; with `has_rows` a row for each case before them.
/// `refused`: of the measured cases those that the simulator does not have.
weft::report::Report accuracy_report(const std::vector<evidence::MeasuredCase>& measured,
                                     const std::vector<evidence::Comparison>& comparisons, std::size_t refused,
                                     const Machine& machine, const Source& source, bool has_rows);

/// A row for each target. JSON: "targets" besides.
weft::report::Report targets_report(const std::vector<evidence::TargetResult>& results, const Source& source);

/// A row for each mechanism. JSON: "switched_off" besides.
weft::report::Report ablation_report(const std::vector<evidence::Ablation>& ablations, const Source& source);

}  // namespace weft::calibration::report
