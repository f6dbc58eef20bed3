// How far predictions are from measurements, as the intervals that a machine profile gives its predictions.
#pragma once

#include <vector>

#include "calibration/evidence/accuracy.hpp"
#include "models/machine/machine.hpp"

namespace weft::calibration::evidence {

struct FoundBand {
  ErrorBand band;
  std::size_t cases = 0;  ///< that it rests on
};

/// The bands of each stratum, and of the speedups ("speedup"): 5 % to 95 % of measured / predicted - 1, one for each
/// class of predicted times, those of a stratum from the longest to the shortest. In this order classes are joined
/// until they have enough cases: short ones are off by more, and are most of them.
std::vector<FoundBand> error_bands(const std::vector<Comparison>& comparisons);

}  // namespace weft::calibration::evidence
