// How the GEMM library weighs kernels against each other.
#pragma once

#include <vector>

#include "models/machine/machine.hpp"

namespace weft::calibration::fitting {

struct KernelWeights {
  std::vector<double> weights;  ///< of kernel_features(); none: too few answers to tell
  double right = 0;             ///< share of the shapes kept aside whose kernel is the likeliest by these weights
  std::size_t shapes = 0;       ///< that were kept aside
};

/// A conditional logit model: that the library takes a kernel of near_kernels() for a shape is as likely as
/// exp(sum of weight x feature), with the weights that make its answers in machine.gemm_choices likeliest. Some
/// thousand answers, evenly drawn, are enough; every fifth of them is kept aside.
KernelWeights fit_kernel_weights(const Machine& machine);

}  // namespace weft::calibration::fitting
