// The numbers of weft's own collectives over peer memory, from such collectives alone.
#pragma once

#include <vector>

#include "calibration/fitting/number_fit.hpp"
#include "models/machine/machine.hpp"
#include "scenarios/workload.hpp"

namespace weft::calibration::evidence {

/// A collective by a few CTAs, alone: after a pause, or under load at the clock that was read (`request.condition`).
struct PeerCollective {
  scenarios::Case request;
  double time_us = 0;
};

/// Those of direct_collectives.two_shot, by least squares of simulated times: what a CTA loads, stores to peers and
/// moves in bulk, what a port carries both ways and one way, and latencies; those of a rank beyond two where more were
/// measured. Empty where there are fewer collectives than numbers, or the machine has no such kernels.
std::vector<fitting::FittedNumber> fit_peer_collectives(const Machine& machine,
                                                        const std::vector<PeerCollective>& collectives);

}  // namespace weft::calibration::evidence
