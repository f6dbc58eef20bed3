// Statistics of repeated measurements: pure functions.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace weft::calibration {

/// The element in the middle of the sorted values; of an even number, the upper of the two, so that it is always one
/// that was measured. `values` must not be empty.
inline double median(std::vector<double> values) {
  if (values.empty()) throw std::invalid_argument("median of no values");
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// (largest - smallest) / median: the run-to-run noise.
inline double relative_spread(const std::vector<double>& values) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return (*high - *low) / median(values);
}

}  // namespace weft::calibration
