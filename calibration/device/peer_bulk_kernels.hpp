// What kernels over peer memory do faster where the tensor memory accelerator brings the bytes (Hopper): a thread of
// each CTA keeps a ring of chunks under way, several times what loads into registers could. Few CTAs fill a port with
// gathers and exchanges, and norm while the next rows come. Sums alone do not gain: the threads that add up what came
// are no faster than those that load it.
#pragma once

#include "calibration/device/peer_kernels.hpp"

namespace weft::calibration::device {

/// Whether the current GPU has one.
bool has_memory_accelerator();

/// Whether enqueue_bulk() is the faster way on the current GPU.
bool moves_in_bulk(const PeerPulls& pulls);
void enqueue_bulk(const PeerPulls& pulls, const WaitLimit& limit, cudaStream_t stream);

void enqueue_bulk(const PeerAllReduceNorm& norm, const WaitLimit& limit, cudaStream_t stream);

}  // namespace weft::calibration::device
