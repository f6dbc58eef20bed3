// Parts of one kernel that go on at once, and eighth powers.
#pragma once

#include <algorithm>
#include <cmath>
#include <initializer_list>

namespace weft {

/// Of products and square roots, which are the same bits everywhere.
inline double eighth_power(double value) {
  const double square = value * value, fourth = square * square;
  return fourth * fourth;
}
inline double eighth_root(double value) { return std::sqrt(std::sqrt(std::sqrt(value))); }

/// The eighth root of the sum of eighth powers: the longest, and up to 1.19 times that where all of four tie, since
/// each now and then waits for another.
inline double about_longest(std::initializer_list<double> times_us) {
  double longest = 0, sum = 0;
  for (const double time_us : times_us) longest = std::max(longest, time_us);
  if (longest == 0) return 0;
  for (const double time_us : times_us) sum += eighth_power(time_us / longest);
  return longest * eighth_root(sum);
}

}  // namespace weft
