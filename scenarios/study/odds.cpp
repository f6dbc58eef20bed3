#include "scenarios/study/odds.hpp"

#include <algorithm>
#include <cmath>

#include "scenarios/study/odds_json.hpp"

namespace weft::scenarios::study {
namespace {

/// Beyond this the slope says nothing more: few speedups were measured there.
constexpr double most_slope_x = 0.5;
constexpr double worst_share = 0.05;

/// The last class that begins at or below the time.
template <class Class>
const Class* class_of(const std::vector<Class>& all, double serial_us, const auto& is_meant) {
  const Class* found = nullptr;
  for (const Class& one : all)
    if (is_meant(one) && one.from_us <= serial_us && (found == nullptr || one.from_us >= found->from_us)) found = &one;
  return found;
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

RatioErrors::Distribution RatioErrors::distribution(std::string_view family, double speedup, double serial_us,
                                                    bool is_measured_machine) const {
  const auto is_own = [family](const RatioStratum& one) { return one.family == family; };
  const RatioStratum* stratum = class_of(strata, serial_us, is_own);
  const bool is_known = stratum != nullptr && is_measured_machine;
  if (stratum == nullptr)
    stratum = class_of(strata, serial_us, [](const RatioStratum& one) { return one.family == "any"; });
  const double x = std::log(speedup);
  return {.expected = x + stratum->shift + stratum->slope * std::clamp(x, -most_slope_x, most_slope_x),
          .scale = stratum->scale * (is_known ? 1 : widening),
          .z = class_of(residuals, serial_us, [](const Residuals&) { return true; })->quantiles};
}

Odds RatioErrors::of(std::string_view family, double speedup, double serial_us, bool is_measured_machine) const {
  const auto [expected, scale, z] = distribution(family, speedup, serial_us, is_measured_machine);
  double mean_share = 0;  // of serial's time
  for (const double one : z) mean_share += std::exp(-expected - scale * one) / static_cast<double>(z.size());
  return {.faster = 1 - share_below(-expected / scale, z),
          .gain = 1 - mean_share,
          .worst_gain = 1 - std::exp(-expected - scale * quantile(worst_share, z))};
}

double RatioErrors::gain_at(double share, std::string_view family, double speedup, double serial_us,
                            bool is_measured_machine) const {
  const auto [expected, scale, z] = distribution(family, speedup, serial_us, is_measured_machine);
  return 1 - std::exp(-expected - scale * quantile(share, z));
}

const RatioErrors& shipped_ratio_errors() {
  static const RatioErrors errors = ratio_errors_from_text(shipped_odds_text());
  return errors;
}

bool is_measured(const Machine& machine) { return !machine.errors.empty(); }

Judge judge_of(const Machine& machine) {
  return [is_known = is_measured(machine)](const Candidate& candidate, double serial_us) {
    return shipped_ratio_errors().of(family_of(candidate.request.schedule), candidate.speedup, serial_us, is_known);
  };
}

}  // namespace weft::scenarios::study
