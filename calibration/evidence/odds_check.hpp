// Do the odds keep what they say? On contests that they were not fitted to.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "calibration/evidence/contests.hpp"

namespace weft::calibration::evidence {

/// Overlapped schedules whose predicted probability to be faster than serial is in one tenth of [0, 1].
struct OddsBin {
  std::size_t cases = 0;
  double predicted = 0, measured = 0;  ///< mean probability; share of them that was faster
};

/// Of each overlapped schedule whose contest has serial. `is_measured`: the machine is one that the odds know.
std::array<OddsBin, 10> odds_bins(const std::vector<Contest>& contests, bool is_measured);

/// How much slower the schedule with the least expected time is than the best, of each contest that has a choice.
std::vector<double> regrets_of_advice(const std::vector<Contest>& contests, bool is_measured);

}  // namespace weft::calibration::evidence
