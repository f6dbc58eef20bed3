// How long an iteration takes: the protocol of every time in this project.
//
// n launches follow one another on one stream, n = 3..200 so that they fill about 30 ms; ranks start together and are
// not synchronised between iterations; a run is the slowest rank's mean, the result the median of the runs.
#pragma once

#include "calibration/device/launcher.hpp"
#include "calibration/hardware.hpp"

namespace weft::calibration::device {

/// Two iterations by host calls, as every library wants them before a capture.
void warm_up(const Program& program);

/// Fills time_us, repeats_us and iterations. The program is warm and its launcher prepared. Collective.
void measure_times(const Program& program, const Launcher& launcher, RankView& ranks, const RunOptions& options,
                   Measurement& measurement);

}  // namespace weft::calibration::device
