// What the predictions have to reach, and what they do reach.
#pragma once

#include <string_view>
#include <vector>

#include "calibration/evidence/accuracy.hpp"
#include "models/base/names.hpp"

namespace weft::calibration::evidence {

/// What the targets are held against.
struct Evidence {
  std::vector<Comparison> all;
  std::vector<Comparison> given;  ///< pairs predicted from the measured times of their parts
  Groups by_duration_ratio;       ///< of `all`
};

Evidence evidence_of(const std::vector<MeasuredCase>& measured, const Machine& machine, const Progress& progress = {});

enum class Statistic { mean, median, p90, p99, least, most };
enum class Bound { at_most, at_least };

struct TargetResult {
  std::string_view row;
  Statistic statistic = Statistic::mean;
  Bound bound = Bound::at_most;
  double target_percent = 0;
  std::size_t cases = 0;
  double reached_percent = 0;  ///< 0 without cases
  bool is_met() const {
    return cases > 0 &&
           (bound == Bound::at_most ? reached_percent <= target_percent : reached_percent >= target_percent);
  }
};

/// Every target, in the order of the table.
std::vector<TargetResult> target_results(const Evidence& evidence);

}  // namespace weft::calibration::evidence

namespace weft {

template <>
struct NamesOf<calibration::evidence::Statistic> {
  using enum calibration::evidence::Statistic;
  static constexpr std::array names{
      std::pair{mean, std::string_view{"mean"}},   std::pair{median, std::string_view{"median"}},
      std::pair{p90, std::string_view{"p90"}},     std::pair{p99, std::string_view{"p99"}},
      std::pair{least, std::string_view{"least"}}, std::pair{most, std::string_view{"most"}}};
};
template <>
struct NamesOf<calibration::evidence::Bound> {
  using enum calibration::evidence::Bound;
  static constexpr std::array names{std::pair{at_most, std::string_view{"<="}},
                                    std::pair{at_least, std::string_view{">="}}};
};

}  // namespace weft
