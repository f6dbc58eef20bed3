// The numbers of the library's kernels for rows that do not begin at whole 16 bytes.
#pragma once

#include <vector>

#include "calibration/fitting/gemm_fit.hpp"

namespace weft::calibration::fitting {

/// gemm.even_rows_efficiency and gemm.odd_rows_efficiency, each from those of the library's GEMMs of bf16 with such
/// rows whose clocks were read: by least squares of times at these clocks, by the formula alone. One of which there are
/// fewer than ten is left out.
std::vector<FittedNumber> fit_unaligned_gemms(const Machine& machine, const std::vector<GemmObservation>& observations);

}  // namespace weft::calibration::fitting
