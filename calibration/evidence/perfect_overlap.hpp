// What papers call the best that overlap could do for a GEMM and a collective, from the times of both alone.
#pragma once

#include "models/machine/machine.hpp"
#include "scenarios/workload.hpp"

namespace weft::calibration::evidence {

/// FiCCO's ideal execution (sections IV-A and VI-B): both cut into as many parts as there are GPUs, each of which takes
/// its share of the whole's time, and a part of the one beside the next part of the other. Throws InputError for
/// another workload than a pair.
double parts_without_losses_us(const scenarios::Case& request, const Machine& machine);

/// FlashOverlap's theoretical latency: with perfect overlap (arXiv 2504.19519, section 6.4): the GEMM and the
/// collective of its last wave's tiles where the GEMM takes longer, else the GEMM's first wave and the whole
/// collective, as the library does both. Throws InputError for another workload than a GEMM that comes first.
double wave_bound_us(const scenarios::Case& request, const Machine& machine);

}  // namespace weft::calibration::evidence
