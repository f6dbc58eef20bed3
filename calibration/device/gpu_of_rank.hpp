// Which GPU a rank has.
#pragma once

#include <cuda_runtime_api.h>

#include "calibration/device/check.hpp"

namespace weft::calibration::device {

/// Ranks have the GPUs in their order. Where they are more than these (RunOptions::may_share_gpus), several have the
/// same one.
inline int gpu_of_rank(int rank) {
  int gpus = 0;
  WEFT_CHECK(cudaGetDeviceCount(&gpus));
  return rank % gpus;
}

}  // namespace weft::calibration::device
