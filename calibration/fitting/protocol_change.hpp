// The size from which on a collective takes the library's other protocol, told by curves of several limits of CTAs.
#pragma once

#include <vector>

#include "models/machine/machine.hpp"

namespace weft::calibration::fitting {

/// NCCL moves small collectives by a protocol of low latency and large ones by one of high bandwidth. It changes at one
/// size whatever the limit of CTAs, and the time jumps there: down where few CTAs move the bytes, up where many do.
///
/// A pair of neighbouring sizes brackets a change where the time falls or grows faster than the bytes, either by more
/// than noise would. `change_bytes` of all curves of one collective on as many GPUs by the same transport becomes the
/// (geometric) middle of the sizes that most of their brackets have in common, if those are of at least three curves,
/// else 0. Gathers and reduce-scatters pass the same bytes round the same ring, and change at one size: on two H200s
/// between 2.122 and 2.138 MB, all-reduces between 1.700 and 1.741 (protocol-change-2026-11-28).
void mark_protocol_changes(std::vector<CollectiveCurve>& curves);

}  // namespace weft::calibration::fitting
