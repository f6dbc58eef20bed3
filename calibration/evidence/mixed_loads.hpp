// What loads of several operations say of power that no operation repeated alone does.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "calibration/evidence/load.hpp"
#include "models/machine/machine.hpp"

namespace weft::calibration::evidence {

/// Of the values that single loads say.
struct MedianOfLoads {
  double value = 0, low = 0, high = 0;  ///< the latter of the middle 80 %
  std::size_t loads = 0;
};

/// power.mixed_energy: energy above idle over that of the operations at the clock that was read, where the limit holds
/// the clock back, as nowhere else it matters.
std::optional<MedianOfLoads> mixed_energy(const Machine& machine, const std::vector<Load>& loads);

/// power.clock_between: the clock between operations on tensor cores that makes the mean what was read, where no limit
/// holds it back and tensor cores work for the smaller part of the time.
std::optional<MedianOfLoads> clock_between(const Machine& machine, const std::vector<Load>& loads);

}  // namespace weft::calibration::evidence
