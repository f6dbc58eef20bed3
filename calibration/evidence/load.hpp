// What a GPU took for the same work again and again.
#pragma once

#include "scenarios/workload.hpp"

namespace weft::calibration::evidence {

/// A case repeated under load, or after a pause: means while it ran, on the GPU with the lowest clock.
struct Load {
  scenarios::Case request;
  double time_us = 0;
  double power_W = 0;      ///< 0: not known
  double clock_share = 0;  ///< of the maximum clock
};

}  // namespace weft::calibration::evidence
