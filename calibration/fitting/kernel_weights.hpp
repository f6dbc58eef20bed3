// How the GEMM library weighs kernels against each other.
#pragma once

#include <vector>

#include "models/machine/machine.hpp"

namespace weft::calibration::fitting {

struct KernelWeights {
  NetworkWeights weights;  ///< of kernel_score(); none: too few answers to tell
  double right = 0;        ///< share of the shapes kept aside whose kernel is the likeliest by these weights
  std::size_t shapes = 0;  ///< that were kept aside
};

/// The network that makes the library's answers in machine.gemm_choices likeliest, among the kernels of near_kernels()
/// for each shape. It learns from at most 150,000 of them, evenly drawn, which takes about a minute and 800 MB; every
/// tenth is kept aside.
KernelWeights fit_kernel_weights(const Machine& machine);

}  // namespace weft::calibration::fitting
