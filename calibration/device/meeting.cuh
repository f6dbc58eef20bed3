// Kernels that run on all ranks at once meet, CTA by CTA, and address each other's buffers.
#pragma once

#include "calibration/device/octet.cuh"
#include "calibration/device/peer_kernels.hpp"
#include "calibration/device/waiting.cuh"

namespace weft::calibration::device {

__device__ inline Octet* octets(const PeerBuffer& buffer, int rank) {
  return static_cast<Octet*>(buffer.of_rank[rank]);
}

/// CTA i of this rank meets CTA i of all others. What any of their threads stored before, all see afterwards.
__device__ inline void meet_cta(const BarrierFlags& flags, const WaitLimit& limit) {
  __syncthreads();
  const int peer = static_cast<int>(threadIdx.x);
  if (peer < flags.ranks && peer != flags.rank) {
    const int first = static_cast<int>(blockIdx.x) * flags.ranks;
    __threadfence_system();
    if (change(flags.of_rank[peer] + first + flags.rank, 0, 1, cuda::memory_order_release, limit, peer))
      change(flags.of_rank[flags.rank] + first + peer, 1, 0, cuda::memory_order_acquire, limit, peer);
  }
  __syncthreads();
}

}  // namespace weft::calibration::device
