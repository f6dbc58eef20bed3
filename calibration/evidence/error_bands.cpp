#include "calibration/evidence/error_bands.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <map>
#include <string>

#include "calibration/evidence/contests.hpp"
#include "scenarios/study/prediction.hpp"

namespace weft::calibration::evidence {
namespace {

constexpr double least_error = 0.02;  ///< no band is narrower: other servers of the type differ as much
/// Classes of predicted times with error bands of their own.
constexpr std::array band_limits_us{0.0, 30.0, 100.0, 300.0};
constexpr std::size_t band_cases = 60;  ///< for quantiles of 5 % and 95 %
constexpr double infinite_us = std::numeric_limits<double>::infinity();

/// The relative error of a predicted time.
struct Residual {
  double predicted_us, error;
};

std::map<std::string, std::vector<Residual>> residuals_of(const std::vector<Comparison>& comparisons) {
  std::map<std::string, std::vector<Residual>> residuals;
  for (const Comparison& one : comparisons)
    residuals[scenarios::study::stratum_of(one.measured.request)].push_back(
        {one.predicted_us, one.measured.time_us / one.predicted_us - 1});
  for (const Speedup& one : speedups_of(contests_of(comparisons)))
    residuals["speedup"].push_back({0, one.measured / one.predicted - 1});
  return residuals;
}

/// Below which the share `p` of further errors is expected: the quantiles of a few errors lie too close together, since
/// theirs are not the most extreme ones. The k-th smallest of n errors is above k / (n + 1) of all.
double expected_quantile(std::vector<double> errors, double p) {
  std::ranges::sort(errors);
  const double rank = std::clamp(p * static_cast<double>(errors.size() + 1), 1.0, static_cast<double>(errors.size()));
  const auto below = static_cast<std::size_t>(rank);
  const double low = errors[below - 1], high = errors[std::min(below, errors.size() - 1)];
  return low + (rank - static_cast<double>(below)) * (high - low);
}

std::vector<FoundBand> bands_of(const std::string& stratum, Condition condition, const std::vector<Residual>& all) {
  std::vector<FoundBand> bands;
  std::vector<double> some;
  std::size_t left = all.size();
  for (auto from_us = band_limits_us.rbegin(); from_us != band_limits_us.rend(); ++from_us) {
    const double to_us = from_us == band_limits_us.rbegin() ? infinite_us : *std::prev(from_us);
    for (const Residual& one : all)
      if (one.predicted_us >= *from_us && one.predicted_us < to_us) some.push_back(one.error), --left;
    if (*from_us > 0 && (some.size() < band_cases || left < band_cases)) continue;
    bands.push_back({{stratum, *from_us, std::min(expected_quantile(some, 0.05), -least_error),
                      std::max(expected_quantile(some, 0.95), least_error), condition},
                     some.size()});
    some.clear();
  }
  return bands;
}

}  // namespace

std::vector<FoundBand> error_bands(const std::vector<Comparison>& comparisons) {
  std::vector<FoundBand> bands;
  for (const auto& [condition, name] : NamesOf<Condition>::names) {
    std::vector<Comparison> some;
    std::ranges::copy_if(comparisons, std::back_inserter(some), [condition = condition](const Comparison& one) {
      return one.measured.condition == condition;
    });
    for (const auto& [stratum, all] : residuals_of(some))
      std::ranges::copy(bands_of(stratum, condition, all), std::back_inserter(bands));
  }
  return bands;
}

}  // namespace weft::calibration::evidence
