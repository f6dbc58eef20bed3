#include "tools/accuracy.hpp"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>

#include "calibration/statistics.hpp"
#include "models/input_error.hpp"
#include "tools/prediction.hpp"

namespace weft::tools {

double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const double position = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (values[above] - values[below]) * (position - static_cast<double>(below));
}

std::vector<Comparison> compare(const std::vector<MeasuredCase>& measured, const Machine& machine,
                                std::size_t& refused) {
  std::vector<Comparison> comparisons(measured.size());
  tbb::parallel_for(std::size_t{0}, measured.size(), [&](std::size_t i) {
    comparisons[i].measured = measured[i];
    try {
      const Prediction prediction = predict(measured[i].request, machine, {.spans = false, .serial = false});
      comparisons[i].predicted_us = prediction.time_us;
      comparisons[i].low_us = prediction.low_us;
      comparisons[i].high_us = prediction.high_us;
    } catch (const InputError&) {
      comparisons[i].predicted_us = 0;
    }
  });
  refused = std::erase_if(comparisons, [](const Comparison& one) { return one.predicted_us == 0; });
  return comparisons;
}

Accuracy accuracy_of(const std::vector<Comparison>& comparisons) {
  Accuracy accuracy;
  accuracy.cases = comparisons.size();
  if (comparisons.empty()) return accuracy;
  std::vector<double> errors, noise;
  const auto count = static_cast<double>(comparisons.size());
  for (const Comparison& one : comparisons) {
    errors.push_back(std::abs(one.error()));
    accuracy.mean += errors.back() / count;
    accuracy.bias += one.error() / count;
    accuracy.coverage += (one.is_covered() ? 1 : 0) / count;
    if (one.measured.repeats_us.size() > 1) noise.push_back(calibration::relative_spread(one.measured.repeats_us));
  }
  accuracy.median = quantile(errors, 0.5);
  accuracy.p90 = quantile(errors, 0.9);
  accuracy.maximum = quantile(errors, 1);
  accuracy.noise = noise.empty() ? 0 : quantile(noise, 0.5);
  return accuracy;
}

std::vector<double> speedup_residuals(const std::vector<Comparison>& comparisons) {
  const auto question = [](const scenarios::Case& request) {
    return describe(request.workload) + " on " + std::to_string(request.gpus);
  };
  const auto is_serial = [](const Comparison& one) {
    return std::holds_alternative<scenarios::Serial>(one.measured.request.schedule.family);
  };
  std::map<std::string, const Comparison*> serial;
  for (const Comparison& one : comparisons)
    if (is_serial(one) && one.measured.request.schedule.max_ctas == 0) serial[question(one.measured.request)] = &one;
  std::vector<double> residuals;
  for (const Comparison& one : comparisons) {
    const auto reference = serial.find(question(one.measured.request));
    if (is_serial(one) || reference == serial.end()) continue;
    const double measured = reference->second->measured.time_us / one.measured.time_us;
    residuals.push_back(measured / (reference->second->predicted_us / one.predicted_us) - 1);
  }
  return residuals;
}

std::map<std::string, std::vector<Comparison>> by_stratum(const std::vector<Comparison>& comparisons) {
  std::map<std::string, std::vector<Comparison>> strata;
  for (const Comparison& one : comparisons) {
    const scenarios::Case& request = one.measured.request;
    std::string family(family_of(request.schedule));
    if (const auto* decomposition = std::get_if<scenarios::Decomposition>(&request.schedule.family))
      family += " " + std::to_string(decomposition->chunks);
    const std::string op(op_of(request.workload));
    strata[op + " | " + family + " | " + std::to_string(request.gpus) + " GPUs"].push_back(one);
  }
  return strata;
}

}  // namespace weft::tools
