// The numbers of weft's own kernels over peer memory, from such kernels alone: collectives, and the all-reduce with the
// norm in it.
#pragma once

#include <vector>

#include "calibration/evidence/timed_case_fit.hpp"

namespace weft::calibration::evidence {

/// Those of direct_collectives.two_shot, by least squares of simulated times: what a CTA loads, stores to peers and
/// moves in bulk, what a port carries both ways and one way, and latencies; those of a rank beyond two where more were
/// measured. Empty where there are fewer collectives than numbers, or the machine has no such kernels.
std::vector<fitting::FittedNumber> fit_peer_collectives(const Machine& machine,
                                                        const std::vector<TimedCase>& collectives);

/// The same of fused_norm_kernel.peer, and fused_norm_kernel.norm_bandwidth, by lone all-reduces with the norm in them.
/// Empty where the profile does not have the former.
std::vector<fitting::FittedNumber> fit_fused_norms(const Machine& machine, const std::vector<TimedCase>& norms);

}  // namespace weft::calibration::evidence
