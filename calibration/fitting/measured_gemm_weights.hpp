// How much longer GEMMs take, the library's and our own, and how much more they draw, than the formulas say.
#pragma once

#include <cstddef>
#include <vector>

#include "calibration/fitting/gemm_fit.hpp"

namespace weft::calibration::fitting {

/// Fewer than these teach a network nothing that has learned already.
inline constexpr std::size_t fewest_further_gemms = 300;

struct MeasuredGemmWeights {
  NetworkWeights weights;               ///< of measured_factors(); the machine's own where too few GEMMs tell better
  double error = 0, formula_error = 0;  ///< mean distance of predicted / measured from 1 of those kept aside, with the
                                        ///< weights and by the formula alone
  std::size_t gemms = 0;                ///< that were kept aside; 0: too few
};

/// The network that brings predicted times nearest to those of the library's GEMMs of bf16 whose kernels its tables
/// have and whose clocks were read, at those clocks. It goes on from the machine's own weights, where it has some: a
/// few hundred GEMMs of a machine tell where it differs from one like it. Every tenth is kept aside. It learns from
/// 40,000 in ten seconds.
MeasuredGemmWeights fit_time_weights(const Machine& machine, const std::vector<GemmObservation>& observations);

/// Likewise that of kernels of bf16 which no table has, our own among them.
MeasuredGemmWeights fit_untabled_weights(const Machine& machine, const std::vector<GemmObservation>& observations);

/// Likewise that of the library's GEMMs of fp8, by the kernels that they are thought to get.
MeasuredGemmWeights fit_fp8_weights(const Machine& machine, const std::vector<GemmObservation>& observations);

/// Likewise that of powers under load. By how much one GPU draws more than another for all of them, as GPUs of one type
/// do by some percent, is not the GEMMs': the median of each run is taken off.
MeasuredGemmWeights fit_energy_weights(const Machine& machine, const std::vector<GemmObservation>& observations);

}  // namespace weft::calibration::fitting
