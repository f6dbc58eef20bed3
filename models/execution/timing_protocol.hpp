// How an iteration is timed, on GPUs and on paper: a few runs one after the other, each of as many launches back to
// back as fill `run_ms`; the median run counts, divided by its launches. How long a run lasts decides how much of it
// the power governor sees.
#pragma once

#include <algorithm>

namespace weft {

inline constexpr double run_ms = 30;
inline constexpr int timed_runs = 3;

/// How many launches fill `target_us`: between 3 and 200.
inline int launches_for(double target_us, double iteration_us) {
  return static_cast<int>(std::clamp(target_us / std::max(iteration_us, 0.1), 3.0, 200.0));
}

}  // namespace weft
