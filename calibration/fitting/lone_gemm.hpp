// A CUDA graph that holds one GEMM, launched again and again, as a formula: thousands of times as fast as a simulation,
// which says the same (tests/calibration/fitting/lone_gemm_test.cpp).
#pragma once

#include "models/cost/gemm_model.hpp"
#include "models/machine/machine.hpp"

namespace weft::calibration::fitting {

struct LoneGemm {
  double time_us = 0;      ///< from one launch to the next
  double kernels_us = 0;   ///< first start to last end
  double dynamic_W = 0;    ///< mean over `time_us`, above idle
  double switching_W = 0;  ///< of dynamic_W what SMs, tensor cores and the L2 draw
  double of_tiles = 0;     ///< `time_us` grows by so many % for each % that tiles, start and end take longer
};

/// With the tensor cores at `clock_share` of the maximum clock. Gap between graphs, tile counter, waves of tiles or HBM
/// traffic, whichever takes longer, and split-K reduction:
///   graph_gap + reset + once + max(waves x tile, HBM bytes / rate) + reduction
/// and its energy is that of busy SMs, of flops and operands, and of bytes from the HBM (sim/energy.hpp).
LoneGemm lone_gemm(const Machine& machine, const MatrixSize& size, DataType dtype, const GemmKernel& kernel,
                   double clock_share);
/// For who knows measured_factors(), or asks for the formula alone.
LoneGemm lone_gemm(const Machine& machine, const MatrixSize& size, DataType dtype, const GemmKernel& kernel,
                   double clock_share, const GemmFactors& factors);

/// The time at the clock that the power limit leaves in this condition, but for a fixed clock.
double governed_gemm_us(const Machine& machine, const MatrixSize& size, DataType dtype, const GemmKernel& kernel,
                        Condition condition, const GemmFactors& factors);

/// With the kernel that the library takes, in the machine's condition.
double lone_gemm_us(const Machine& machine, const MatrixSize& size, DataType dtype = DataType::bf16);

}  // namespace weft::calibration::fitting
