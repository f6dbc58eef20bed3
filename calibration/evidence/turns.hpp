// Cases that were measured in turn found the clock of their mix, and not the one that each has under its own load.
#pragma once

#include <vector>

#include "calibration/evidence/measurement_file.hpp"
#include "models/base/progress.hpp"
#include "models/machine/machine.hpp"
#include "sim/mechanisms.hpp"

namespace weft::calibration::evidence {

/// Each case that was measured in turn, asked at the clock that its mix finds on the simulated machine; beside guests,
/// whose load nobody tells, at the one whose mean over the mix is the clock that was read. The others stay as they
/// are. `progress` counts mixes.
std::vector<MeasuredCase> in_their_mixes(std::vector<MeasuredCase> measured, const Machine& machine,
                                         const sim::Mechanisms& mechanisms = {}, const Progress& progress = {});

}  // namespace weft::calibration::evidence
