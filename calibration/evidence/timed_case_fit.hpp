// Numbers of a profile by what cases of one kernel took, each alone.
#pragma once

#include <span>
#include <vector>

#include "calibration/evidence/load.hpp"
#include "calibration/fitting/number_fit.hpp"
#include "models/machine/machine.hpp"
#include "scenarios/workload.hpp"

namespace weft::calibration::evidence {

/// After a pause, or under load at the clock that was read (`request.condition`).
struct TimedCase {
  scenarios::Case request;
  double time_us = 0;
};
/// At the clock that was read on a GPU whose highest is `machine`'s.
TimedCase timed(const Load& load, const Machine& machine);

/// As fitting::fit_numbers(), by the logarithms of simulated over measured times.
std::vector<fitting::FittedNumber> fit_to_times(Machine& machine, std::span<const fitting::Number> numbers,
                                                const std::vector<TimedCase>& cases);

/// Where a profile leaves a number out (0) another one holds, which a fit must start from.
inline void start_from(double& number, double otherwise) {
  if (number == 0) number = otherwise;
}

}  // namespace weft::calibration::evidence
