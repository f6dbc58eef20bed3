// How the ranks meet in our GEMM.
//
// Each rank says on all others in which iteration it has begun, which frees its memory for them, and in which it has
// ended, which frees theirs. CTA 0 speaks for the rank; everyone hears. Words are only ever set to higher numbers: the
// next iteration can follow at once.
#pragma once

#include "calibration/device/own_gemm.cuh"
#include "calibration/device/own_gemm.hpp"
#include "calibration/device/waiting.cuh"

namespace weft::calibration::device {
namespace own_tiles {

enum class Moment { begin, end };

/// In the iteration of this number, from 0 on.
class MeetingOfRanks {
 public:
  __device__ MeetingOfRanks(const OwnGemmWork& work, std::uint64_t iteration)
      : flags_(work.meeting.flags), limit_(work.limit), number_(static_cast<std::uint32_t>(iteration) + 1) {}

  /// By one thread. What came before it is ordered by whoever needs that.
  __device__ void say(Moment moment) const {
    for (int peer = 0; peer < flags_.ranks; ++peer)
      SharedWord<std::uint32_t>(*word(peer, moment, flags_.rank)).store(number_, cuda::memory_order_relaxed);
  }
  /// Until all have said so; afterwards the calling thread, and its copies, may do what that allows.
  __device__ void wait_for(Moment moment) const {
    for (int peer = 0; peer < flags_.ranks; ++peer) {
      const SharedWord<std::uint32_t> of_peer(*word(flags_.rank, moment, peer));
      try_until(limit_, peer,
                [&] { return static_cast<std::int32_t>(of_peer.load(cuda::memory_order_acquire) - number_) >= 0; });
    }
    hopper::order_with_copies();
  }

 private:
  /// What rank `of` says on rank `on`.
  __device__ std::uint32_t* word(int on, Moment moment, int of) const {
    return flags_.of_rank[on] + static_cast<int>(moment) * flags_.ranks + of;
  }

  const BarrierFlags& flags_;
  const WaitLimit& limit_;
  std::uint32_t number_;
};

__device__ inline bool meets_peers(const OwnGemmWork& work) { return work.meeting.flags.ranks > 1; }

/// By one thread of each part of the CTA that uses peers' memory, or stores what peers wait for, when it has done so.
/// The last one of the rank says that it has ended.
__device__ inline void leave_peers(const OwnGemmWork& work, const MeetingOfRanks& ranks) {
  const OwnGemmMeeting& meeting = work.meeting;
  const std::uint32_t parts = (meeting.ends_with_stores ? 1 : 0) + (meeting.fetches ? 1 : 0);
  cuda::atomic_ref<std::uint32_t, cuda::thread_scope_device> left(*meeting.left);
  if (left.fetch_add(1, cuda::memory_order_acq_rel) + 1 != gridDim.x * parts) return;
  left.store(0, cuda::memory_order_relaxed);
  // On H100s this fence takes 2 us; loads from peers need none.
  if (meeting.ends_with_stores) cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_system);
  ranks.say(Moment::end);
}

}  // namespace own_tiles
}  // namespace weft::calibration::device
