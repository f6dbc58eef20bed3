// The numbers of weft's own GEMM kernels and of those of fp8, from GEMMs alone under load.
#pragma once

#include <optional>
#include <vector>

#include "calibration/fitting/gemm_fit.hpp"
#include "models/machine/machine.hpp"

namespace weft::calibration::fitting {

/// gemm.own_efficiency and, where there are kernels of the kind, gemm.own_narrow_efficiency, own_persistent_start,
/// own_cluster_start, own_slice and own_grid_tile: by least squares of times at the clocks that were read.
/// gemm.own_energy: the median of what our kernels draw, over the same of the `library`'s GEMMs under load, since GPUs
/// of one type differ in what they draw. All by the formulas alone. Empty with fewer than ten of ours, whose clocks
/// have to be known; without energy where fewer than ten of either have their power. `machine` is the one that the
/// library's GEMMs were fitted to.
std::vector<FittedNumber> fit_own_gemms(const Machine& machine, const std::vector<GemmObservation>& own,
                                        const std::vector<GemmObservation>& library);

/// gemm.fp8_energy: the median of what the library's GEMMs of fp8 draw under load. None with fewer than ten.
std::optional<FittedNumber> fit_fp8_energy(const Machine& machine, const std::vector<GemmObservation>& gemms);

}  // namespace weft::calibration::fitting
