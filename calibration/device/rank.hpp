// What a rank process does: one schedule after another, in step with the other ranks.
#pragma once

#include "calibration/device_module.hpp"

namespace weft::calibration::device {

/// Sends JSON lines: {"conditions"}, {"index", "measurement"}, {"index", "spans", "kernels"}, {"index", "error"}.
/// Throws when the group cannot go on.
void run_rank(const RankJob& job, const Send& send);

}  // namespace weft::calibration::device
