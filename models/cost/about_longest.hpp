// Parts of one kernel that go on at once.
#pragma once

#include <algorithm>
#include <cmath>
#include <initializer_list>

namespace weft {

/// The eighth root of the sum of eighth powers: the longest, and up to 1.19 times that where all of four tie, since
/// each now and then waits for another.
inline double about_longest(std::initializer_list<double> times_us) {
  double longest = 0, sum = 0;
  for (const double time_us : times_us) longest = std::max(longest, time_us);
  if (longest == 0) return 0;
  for (const double time_us : times_us) {
    const double square = (time_us / longest) * (time_us / longest);
    sum += square * square * square * square;
  }
  return longest * std::sqrt(std::sqrt(std::sqrt(sum)));
}

}  // namespace weft
