// Spinning on a word that another stream or rank changes, with an end.
#pragma once

#include <cuda/atomic>
#include <type_traits>

#include "calibration/device/global_timer.cuh"
#include "calibration/device/waiting_kernels.hpp"

namespace weft::calibration::device {

template <class Word>
using SharedWord = cuda::atomic_ref<Word, cuda::thread_scope_system>;

/// Tries until `attempt` succeeds. False: it took too long, or another kernel's wait did. The note lies in the host's
/// memory, so it is read once in a millisecond: when a GEMM's 132 CTAs read it all the time, nothing else got through
/// to the host, and the copies that they waited for took fifty times as long (seen on H200s).
template <class Attempt>
__device__ bool try_until(const WaitLimit& limit, int awaited_rank, const Attempt& attempt) {
  constexpr int attempts_between_looks = 256;
  constexpr std::uint64_t between_notes_ns = 1'000'000;
  const std::uint64_t start_ns = now_ns();
  std::uint64_t next_note_ns = start_ns + between_notes_ns;
  for (int i = 1; !attempt(); ++i) {
    if (i % attempts_between_looks != 0 || now_ns() < next_note_ns) continue;
    next_note_ns += between_notes_ns;
    volatile std::uint64_t* note = limit.note;
    if (*note != 0) return false;
    if (now_ns() - start_ns < limit.limit_ns) continue;
    *note = (static_cast<std::uint64_t>(limit.operation) + 1) << 32 | static_cast<std::uint32_t>(awaited_rank);
    return false;
  }
  return true;
}

/// A flag of two ranks: one raises it when it is down, the other takes it down when it is up.
template <class Word>
__device__ bool change(Word* flag, std::type_identity_t<Word> from, std::type_identity_t<Word> to,
                       cuda::memory_order order, const WaitLimit& limit, int awaited_rank) {
  const SharedWord<Word> word(*flag);
  return try_until(limit, awaited_rank, [&] {
    Word expected = from;
    return word.compare_exchange_strong(expected, to, order, cuda::memory_order_relaxed);
  });
}

/// Until what is added to the target's counter has reached its value of this iteration.
__device__ inline bool wait_for_count(const CounterTarget& target, std::uint64_t iteration, const WaitLimit& limit) {
  const std::uint64_t wanted = iteration * target.total + target.value;
  const SharedWord<std::uint64_t> counter(*target.counter);
  return try_until(limit, target.source, [&] { return counter.load(cuda::memory_order_acquire) >= wanted; });
}

}  // namespace weft::calibration::device
