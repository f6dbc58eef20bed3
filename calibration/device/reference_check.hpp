// Is what a schedule computed right? Some rows of the result, on each rank, against a plain reference made of the same
// inputs. Every rank makes the inputs of all ranks again, so nothing is exchanged that could be wrong in the same way.
// Whole layers have no plain reference, but another schedule.
#pragma once

#include <optional>

#include "calibration/device/launcher.hpp"

namespace weft::calibration::device {

struct CheckResult {
  double max_error = 0, error_bound = 0;  ///< of the element that comes closest to its bound
  double ratio = 0;                       ///< error over bound; right: at most 1
  std::int64_t row = 0, column = 0;       ///< of that element in the result
};

/// Another schedule that computes the same, ready to be launched.
struct Reference {
  const Program& program;
  const Launcher& launcher;
};

/// Empty where the schedule does not say what it computes, or it cannot be checked (dtype, layout, a layer without a
/// reference: else null will do). Runs one iteration from fresh inputs with everything else set to NaN. Collective:
/// every rank calls it.
std::optional<CheckResult> check_result(const Program& program, const Launcher& launcher, RankView& ranks,
                                        Resources& resources, const Reference* reference);

}  // namespace weft::calibration::device
