// What each mechanism of the simulated machine is worth, against measurements.
#pragma once

#include <string_view>
#include <vector>

#include "calibration/evidence/accuracy.hpp"

namespace weft::calibration::evidence {

struct Ablation {
  std::string_view switched_off;  ///< the mechanism, or "none"
  Accuracy accuracy;              ///< without it
};

/// With all mechanisms, then without each of sim::named_mechanisms. `progress` counts predicted cases.
std::vector<Ablation> ablations(const std::vector<MeasuredCase>& measured, const Machine& machine,
                                const Progress& progress = {});

}  // namespace weft::calibration::evidence
