// What loads of several operations say of power that no operation repeated alone does.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "models/machine/machine.hpp"
#include "scenarios/workload.hpp"

namespace weft::calibration::evidence {

/// A pair again and again, without a pause: means while it ran, on the GPU with the lowest clock.
struct MixedLoad {
  scenarios::Case request;
  double time_us = 0;
  double power_W = 0, clock_share = 0;  ///< of the maximum clock
};

/// Of the values that single loads say.
struct MedianOfLoads {
  double value = 0, low = 0, high = 0;  ///< the latter of the middle 80 %
  std::size_t loads = 0;
};

/// power.mixed_energy: energy above idle over that of the operations at the clock that was read, where the limit holds
/// the clock back, as nowhere else it matters.
std::optional<MedianOfLoads> mixed_energy(const Machine& machine, const std::vector<MixedLoad>& loads);

/// power.clock_between: the clock between operations on tensor cores that makes the mean what was read, where no limit
/// holds it back and tensor cores work for the smaller part of the time.
std::optional<MedianOfLoads> clock_between(const Machine& machine, const std::vector<MixedLoad>& loads);

}  // namespace weft::calibration::evidence
