// How far predictions are from measurements, as the intervals that a machine profile gives its predictions.
#pragma once

#include <vector>

#include "calibration/evidence/accuracy.hpp"
#include "models/machine/machine.hpp"

namespace weft::calibration::evidence {

struct FoundErrors {
  ErrorBands errors;
  std::vector<std::size_t> cases;  ///< that each of its bands rests on
};

/// For each condition the bands of each stratum: 5 % to 95 % of measured / predicted - 1, one for each class of
/// predicted times, those of a stratum from the shortest to the longest. Classes are joined until they have enough
/// cases, from the longest on: short ones are off by more, and are most of them.
std::vector<FoundErrors> error_bands(const std::vector<Comparison>& comparisons);

}  // namespace weft::calibration::evidence
