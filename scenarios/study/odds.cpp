#include "scenarios/study/odds.hpp"

#include <algorithm>
#include <cmath>

#include "scenarios/study/odds_json.hpp"

namespace weft::scenarios::study {
namespace {

/// Beyond this slope and growth say nothing more: few speedups were measured there.
constexpr double most_x = 0.5;
constexpr double worst_share = 0.05;

/// The last that begins at or below the value.
template <class Class, class Value>
const Class* class_of(const std::vector<Class>& ascending, Value value, Value Class::*from) {
  const auto above = std::ranges::upper_bound(ascending, value, {}, from);
  return above == ascending.begin() ? nullptr : &*std::prev(above);
}

const RatioScale* scale_of(const std::vector<RatioScale>& scales, std::string_view family, const RatioClass& time) {
  const auto is_meant = [&](const RatioScale& one) { return one.family == family && one.from_us == time.from_us; };
  const auto found = std::ranges::find_if(scales, is_meant);
  return found == scales.end() ? nullptr : &*found;
}

double shift_of(const std::vector<NamedShift>& shifts, std::string_view name) {
  const auto found = std::ranges::find(shifts, name, &NamedShift::name);
  return found == shifts.end() ? 0 : found->shift;
}

double shift_of(const std::vector<GpusShift>& shifts, int gpus) {
  const GpusShift* found = class_of(shifts, gpus, &GpusShift::from_gpus);
  return found == nullptr ? 0 : found->shift;
}

/// Share of the distribution below z: linear between quantiles, an exponential tail beyond them.
double share_below(double z, const std::vector<double>& quantiles) {
  const auto count = static_cast<double>(quantiles.size());
  const double tail = 0.5 / count;
  if (z <= quantiles.front()) return tail * std::exp(z - quantiles.front());
  if (z >= quantiles.back()) return 1 - tail * std::exp(quantiles.back() - z);
  const auto above = std::ranges::upper_bound(quantiles, z);
  const double low = *std::prev(above), high = *above;
  return (static_cast<double>(above - quantiles.begin()) - 0.5 + (z - low) / (high - low)) / count;
}

double quantile(double share, const std::vector<double>& quantiles) {
  const double rank = share * static_cast<double>(quantiles.size()) - 0.5;
  const auto below = static_cast<std::size_t>(std::max(rank, 0.0));
  const double low = quantiles[below], high = quantiles[std::min(below + 1, quantiles.size() - 1)];
  return low + (rank - static_cast<double>(below)) * (high - low);
}

}  // namespace

RatioErrors::Distribution RatioErrors::distribution(const PredictedRatio& ratio) const {
  const RatioClass& time = *class_of(classes, ratio.serial_us, &RatioClass::from_us);
  const RatioScale* own = scale_of(scales, ratio.family, time);
  const bool is_known = own != nullptr && ratio.is_measured_machine;
  const RatioScale& scale = own != nullptr ? *own : *scale_of(scales, "any", time);
  const double x = std::log(ratio.speedup), measured_x = std::clamp(x, -most_x, most_x);
  return {.expected = x + time.shift + time.slope * measured_x + shift_of(families, ratio.family) +
                      shift_of(ops, ratio.op) + shift_of(gpus, ratio.gpus),
          .scale = scale.scale * (1 + time.growth * std::abs(measured_x)) * (is_known ? 1 : widening),
          .z = time.quantiles};
}

Odds RatioErrors::of(const PredictedRatio& ratio) const {
  const auto [expected, scale, z] = distribution(ratio);
  double mean_share = 0;  // of serial's time
  for (const double one : z) mean_share += std::exp(-expected - scale * one) / static_cast<double>(z.size());
  return {.faster = 1 - share_below(-expected / scale, z),
          .gain = 1 - mean_share,
          .worst_gain = 1 - std::exp(-expected - scale * quantile(worst_share, z))};
}

double RatioErrors::gain_at(double share, const PredictedRatio& ratio) const {
  const auto [expected, scale, z] = distribution(ratio);
  return 1 - std::exp(-expected - scale * quantile(share, z));
}

const RatioErrors& shipped_ratio_errors() {
  static const RatioErrors errors = ratio_errors_from_text(shipped_odds_text());
  return errors;
}

bool is_measured(const Machine& machine) { return !machine.errors.empty(); }

PredictedRatio predicted_ratio(const Case& request, double speedup, double serial_us, bool is_measured_machine) {
  return {.family = family_of(request.schedule),
          .op = op_of(request.workload),
          .gpus = request.gpus,
          .speedup = speedup,
          .serial_us = serial_us,
          .is_measured_machine = is_measured_machine};
}

Judge judge_of(const Machine& machine) {
  return [is_known = is_measured(machine)](const Candidate& candidate, double serial_us) {
    return shipped_ratio_errors().of(predicted_ratio(candidate.request, candidate.speedup, serial_us, is_known));
  };
}

}  // namespace weft::scenarios::study
