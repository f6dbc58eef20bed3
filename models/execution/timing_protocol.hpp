// How an iteration is timed, on GPUs and on paper. Its launches follow one another on one stream, ranks are not
// synchronised between iterations, and the slowest rank counts.
#pragma once

#include <algorithm>

#include "models/machine/run_condition.hpp"

namespace weft {

/// Sustained: windows of `window_ms` without a pause, the mean of the last `counted_windows`.
inline constexpr double window_ms = 50;
inline constexpr int fewest_windows = 12, most_windows = 24, counted_windows = 6;
/// The counted windows agree where the longest and the shortest differ by no more than this share.
inline constexpr double settled_spread = 0.02;

/// Schedules in turn: each for `turn_ms`, one after the other without a pause, so that all of them find one clock.
/// Rounds of about `rounds_ms` together are what a window is to a schedule alone: so many count when they agree.
inline constexpr double turn_ms = 2, rounds_ms = 60;

/// After a pause: runs of `run_ms`; the median of `timed_runs` counts.
inline constexpr double run_ms = 30;
inline constexpr int timed_runs = 3;

/// How many launches fill `target_us`: between 3 and 200.
inline int launches_for(double target_us, double iteration_us) {
  return static_cast<int>(std::clamp(target_us / std::max(iteration_us, 0.1), 3.0, 200.0));
}

}  // namespace weft
