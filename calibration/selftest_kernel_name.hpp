// How schedules of the self-test name the kernel of our own that they are tried with.
#pragma once

#include <string>

#include "models/base/names.hpp"
#include "models/schedule/gemm_kernel.hpp"

namespace weft::calibration {

/// "own kernel of 256 columns, clusters of 2, stream_k".
inline std::string own_kernel_name(const GemmKernel& kernel) {
  return "own kernel of " + std::to_string(kernel.tile_n) + " columns, clusters of " +
         std::to_string(kernel.cluster_m) + ", " + std::string(name_of(kernel.scheduler));
}

}  // namespace weft::calibration
