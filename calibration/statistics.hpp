// Statistics of repeated measurements: pure functions.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

namespace weft::calibration {

/// The element of the sorted values that `share` of them (0 to below 1) stand before: always one that was measured.
/// `values` must not be empty.
inline double quantile(std::vector<double> values, double share) {
  if (values.empty()) throw std::invalid_argument("quantile of no values");
  const auto position = values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size()));
  std::nth_element(values.begin(), position, values.end());
  return *position;
}

/// Of an even number, the upper of the two in the middle.
inline double median(std::vector<double> values) { return quantile(std::move(values), 0.5); }

/// (largest - smallest) / median: the run-to-run noise.
inline double relative_spread(const std::vector<double>& values) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return (*high - *low) / median(values);
}

}  // namespace weft::calibration
