// Kernels that run on all ranks at once meet, CTA by CTA, and address each other's buffers.
#pragma once

#include "calibration/device/octet.cuh"
#include "calibration/device/peer_kernels.hpp"
#include "calibration/device/waiting.cuh"

namespace weft::calibration::device {

__device__ inline Octet* octets(const PeerBuffer& buffer, int rank) {
  return static_cast<Octet*>(buffer.of_rank[rank]);
}

/// CTA i of this rank and CTA i of all others meet several times in a kernel. Each rank has a word on every other,
/// which says how often it has come, and one on itself, from which the next kernel goes on. Words only grow: nobody
/// waits for one to be taken down again, which would cost a journey there and back.
class CtaMeetings {
 public:
  __device__ CtaMeetings(const BarrierFlags& flags, const WaitLimit& limit)
      : flags_(flags), limit_(limit), first_(static_cast<int>(blockIdx.x) * flags.ranks) {
    if (flags.started != nullptr && threadIdx.x == 0)
      SharedWord<std::uint64_t>(*flags.started).fetch_add(1, cuda::memory_order_relaxed);
    if (has_word()) met_ = *word(flags.rank, flags.rank);
  }

  /// Before the kernel's first access to a peer. What the kernels before it stored has arrived when it starts, so that
  /// nothing has to be waited for here but the others: the fence of a release takes 1.6 us (measured on H100s).
  __device__ void begin() { come<cuda::memory_order_relaxed>(); }

  /// What any thread of these CTAs stored before, all see afterwards; what any loaded may be overwritten.
  __device__ void meet() {
    __syncthreads();
    come<cuda::memory_order_release>();
  }

 private:
  __device__ bool has_word() const { return static_cast<int>(threadIdx.x) < flags_.ranks; }
  /// What rank `of` says on rank `on`.
  __device__ std::uint32_t* word(int on, int of) const { return flags_.of_rank[on] + first_ + of; }

  template <cuda::memory_order order>
  __device__ void come() {
    if (has_word()) {
      ++met_;
      const int peer = static_cast<int>(threadIdx.x);
      SharedWord<std::uint32_t>(*word(peer, flags_.rank)).store(met_, order);
      const SharedWord<std::uint32_t> of_peer(*word(flags_.rank, peer));
      try_until(limit_, peer,
                [&] { return static_cast<std::int32_t>(of_peer.load(cuda::memory_order_acquire) - met_) >= 0; });
    }
    __syncthreads();
  }

  const BarrierFlags& flags_;
  const WaitLimit& limit_;
  int first_;
  std::uint32_t met_ = 0;  ///< of the threads that have a word
};

}  // namespace weft::calibration::device
