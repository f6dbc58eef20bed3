// Kernels that use what only Hopper has say so, rather than fail at their launch.
#pragma once

#include <string>

#include "calibration/device/check.hpp"

namespace weft::calibration::device {

/// Throws ExecutionError where the current GPU is no Hopper; `what` needs one.
inline void require_hopper(const std::string& what) {
  int device = 0, major = 0;
  WEFT_CHECK(cudaGetDevice(&device));
  WEFT_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  if (major != 9)
    throw ExecutionError(what + " needs a Hopper GPU (compute capability 9.0), this one has " + std::to_string(major) +
                         ".x");
}

}  // namespace weft::calibration::device
