// Gathers and exchanges over peer memory where the tensor memory accelerator moves the bytes (Hopper): a thread of each
// CTA keeps a ring of chunks under way, several times what loads into registers could, so that few CTAs fill a port.
// Sums do not gain: the threads that add up what came are no faster than those that load it.
#pragma once

#include "calibration/device/peer_kernels.hpp"

namespace weft::calibration::device {

/// Whether enqueue_bulk() is the faster way on the current GPU.
bool moves_in_bulk(const PeerPulls& pulls);
void enqueue_bulk(const PeerPulls& pulls, const WaitLimit& limit, cudaStream_t stream);

}  // namespace weft::calibration::device
