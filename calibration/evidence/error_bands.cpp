#include "calibration/evidence/error_bands.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <string>

#include "scenarios/study/prediction.hpp"

namespace weft::calibration::evidence {
namespace {

constexpr double least_error = 0.02;  ///< no band is narrower: other servers of the type differ as much
/// Classes of predicted times with error bands of their own.
constexpr std::array band_limits_us{0.0, 30.0, 100.0, 300.0};
constexpr std::size_t band_cases = 25;  ///< so that 5 % and 95 % lie between the two most extreme ones
constexpr double infinite_us = std::numeric_limits<double>::infinity();

/// Errors of four GPUs were as large as those of two on H200s and 1.24 times as large on H100s: between them lies what
/// is assumed of machines that were measured on two only.
constexpr double usual_growth = 1.1;
constexpr std::size_t growth_cases = 20;  ///< of two GPUs, and of more, of a stratum and class

/// The relative error of a predicted time.
struct Residual {
  int gpus;
  double predicted_us, error;
};

using Residuals = std::map<std::string, std::vector<Residual>>;  ///< by stratum

Residuals residuals_of(const std::vector<Comparison>& comparisons, Condition condition) {
  Residuals residuals;
  for (const Comparison& one : comparisons)
    if (one.measured.condition == condition)
      residuals[scenarios::study::stratum_of(one.measured.request)].push_back(
          {one.measured.request.gpus, one.predicted_us, one.measured.time_us / one.predicted_us - 1});
  return residuals;
}

std::vector<Residual> of_class(const std::vector<Residual>& all, std::size_t time_class) {
  const double from_us = band_limits_us[time_class];
  const double to_us = time_class + 1 < band_limits_us.size() ? band_limits_us[time_class + 1] : infinite_us;
  std::vector<Residual> some;
  std::ranges::copy_if(all, std::back_inserter(some),
                       [&](const Residual& one) { return one.predicted_us >= from_us && one.predicted_us < to_us; });
  return some;
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

/// How much wider the errors of a stratum and class are with each doubling of the GPUs: the mean over all that were
/// measured on two GPUs and on more, each as often as it has cases of what it has fewer of.
double growth_of(const Residuals& residuals) {
  double growths = 0, weights = 0;
  for (const auto& [stratum, all] : residuals)
    for (std::size_t time_class = 0; time_class < band_limits_us.size(); ++time_class) {
      std::vector<double> of_two, of_more;
      double doublings = 0;
      for (const Residual& one : of_class(all, time_class)) {
        if (one.gpus < 2) continue;
        (one.gpus == 2 ? of_two : of_more).push_back(std::max(std::abs(one.error), least_error));
        doublings += ErrorBands::doublings_beyond_two(one.gpus);
      }
      const std::size_t cases = std::min(of_two.size(), of_more.size());
      if (cases < growth_cases) continue;
      const double wider = expected_quantile(of_more, 0.9) / expected_quantile(of_two, 0.9);
      const auto weight = static_cast<double>(cases);
      growths += weight * std::log(wider) * static_cast<double>(of_more.size()) / doublings;
      weights += weight;
    }
  return weights > 0 ? std::max(1.0, std::exp(growths / weights)) : usual_growth;
}

void add_bands(FoundErrors& found, const std::string& stratum, const std::vector<Residual>& all) {
  std::vector<double> some;
  std::size_t left = all.size();
  std::vector<ErrorBand> bands;
  std::vector<std::size_t> cases;
  for (std::size_t time_class = band_limits_us.size(); time_class-- > 0;) {
    for (const Residual& one : of_class(all, time_class))
      some.push_back(one.error / found.errors.widening(one.gpus)), --left;
    if (time_class > 0 && (some.size() < band_cases || left < band_cases)) continue;
    bands.push_back({stratum, band_limits_us[time_class], std::min(expected_quantile(some, 0.05), -least_error),
                     std::max(expected_quantile(some, 0.95), least_error)});
    cases.push_back(some.size());
    some.clear();
  }
  found.errors.bands.insert(found.errors.bands.end(), bands.rbegin(), bands.rend());
  found.cases.insert(found.cases.end(), cases.rbegin(), cases.rend());
}

}  // namespace

std::vector<FoundErrors> error_bands(const std::vector<Comparison>& comparisons) {
  std::vector<FoundErrors> all;
  for (const auto& [condition, name] : NamesOf<Condition>::names) {
    const Residuals residuals = residuals_of(comparisons, condition);
    if (residuals.empty()) continue;
    FoundErrors& found = all.emplace_back();
    found.errors.condition = condition;
    found.errors.growth = growth_of(residuals);
    for (const auto& [stratum, of_stratum] : residuals) add_bands(found, stratum, of_stratum);
  }
  return all;
}

}  // namespace weft::calibration::evidence
