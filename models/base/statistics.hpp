// Statistics of repeated measurements: pure functions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

namespace weft {

/// The element of the sorted values that `share` of them (0 to below 1) stand before: always one that was measured.
/// `values` must not be empty.
inline double order_statistic(std::vector<double> values, double share) {
  if (values.empty()) throw std::invalid_argument("order statistic of no values");
  const auto position = values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size()));
  std::nth_element(values.begin(), position, values.end());
  return *position;
}

/// Of an even number, the upper of the two in the middle.
inline double median(std::vector<double> values) { return order_statistic(std::move(values), 0.5); }

/// `values` must not be empty.
inline double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// The value below which `share` (0 to 1) of the values lie, linear between order statistics. `values` must not be
/// empty.
inline double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const double position = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (values[above] - values[below]) * (position - static_cast<double>(below));
}

/// (largest - smallest) / median: the run-to-run noise.
inline double relative_spread(const std::vector<double>& values) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return (*high - *low) / median(values);
}

}  // namespace weft
