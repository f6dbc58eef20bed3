// Kernels that use what not every GPU has say so, rather than fail at their launch.
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

/// Throws ExecutionError where the tensor cores of the current GPU do not multiply e4m3.
inline void require_fp8() {
  int device = 0, major = 0, minor = 0;
  WEFT_CHECK(cudaGetDevice(&device));
  WEFT_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  WEFT_CHECK(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device));
  if (10 * major + minor < 89)
    throw ExecutionError("a GEMM of fp8 needs compute capability 8.9 or newer, this GPU has " + std::to_string(major) +
                         "." + std::to_string(minor));
}

}  // namespace weft::calibration::device
