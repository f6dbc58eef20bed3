// FiCCO's rule (figure 12a and section V-C of the paper, "Design space exploration of DMA based finer-grain compute
// communication overlap"): which of its schedules to run, from the shape and the machine alone.
#pragma once

#include "models/machine/machine.hpp"
#include "scenarios/workload.hpp"

namespace weft::scenarios {

/// m <= k            uniform fused 2d: cutting rows costs a GEMM with few of them more than cutting k
/// m > k             by the product of operations per byte and of the GEMM's memory traffic, against a threshold that
/// is
///                   the machine's operations per byte times its memory bandwidth, so a rate of operations:
///   below             uniform fused 1d, which loses least by cutting and most by contention
///   up to five times  hetero fused 1d
///   above             hetero unfused 1d, which loses most by cutting and least by contention
/// The product is the GEMM's operations; what turns a rate into operations is a time that the paper does not give. It
/// is assumed to be 12.5 ms, with which the rows of its table I (n cut over eight MI300X) are of all three kinds.
Ficco ficco_rule(const PairWorkload& pair, const Machine& machine);

}  // namespace weft::scenarios
