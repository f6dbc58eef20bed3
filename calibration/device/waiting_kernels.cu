#include <cuda/atomic>

#include "calibration/device/check.hpp"
#include "calibration/device/global_timer.cuh"
#include "calibration/device/waiting_kernels.hpp"

namespace weft::calibration::device {
namespace {

template <class Word>
using SharedWord = cuda::atomic_ref<Word, cuda::thread_scope_system>;

/// Tries until `attempt` succeeds. False: it took too long, or another kernel's wait did. The note lies in the host's
/// memory, so it is read seldom.
template <class Attempt>
__device__ bool try_until(const WaitLimit& limit, int awaited_rank, const Attempt& attempt) {
  constexpr int attempts_between_looks = 256;
  const std::uint64_t start_ns = now_ns();
  for (int i = 1; !attempt(); ++i) {
    if (i % attempts_between_looks != 0) continue;
    volatile std::uint64_t* note = limit.note;
    if (*note != 0) return false;
    if (now_ns() - start_ns < limit.limit_ns) continue;
    *note = (static_cast<std::uint64_t>(limit.operation) + 1) << 32 | static_cast<std::uint32_t>(awaited_rank);
    return false;
  }
  return true;
}

__device__ bool change(std::uint32_t* flag, std::uint32_t from, std::uint32_t to, cuda::memory_order order,
                       const WaitLimit& limit, int awaited_rank) {
  const SharedWord<std::uint32_t> word(*flag);
  return try_until(limit, awaited_rank, [&] {
    std::uint32_t expected = from;
    return word.compare_exchange_strong(expected, to, order, cuda::memory_order_relaxed);
  });
}

__global__ void barrier_kernel(BarrierFlags flags, WaitLimit limit) {
  const int peer = static_cast<int>(threadIdx.x);
  if (peer == flags.rank) return;
  if (change(flags.of_rank[peer] + flags.rank, 0, 1, cuda::memory_order_release, limit, peer))
    change(flags.of_rank[flags.rank] + peer, 1, 0, cuda::memory_order_acquire, limit, peer);
}

__global__ void signal_kernel(std::uint64_t* counter, std::uint64_t add) {
  SharedWord<std::uint64_t>(*counter).fetch_add(add, cuda::memory_order_release);
}

__global__ void wait_kernel(CounterTarget target, WaitLimit limit) {
  const std::uint64_t wanted = (*target.iterations)++ * target.total + target.value;
  const SharedWord<std::uint64_t> counter(*target.counter);
  try_until(limit, target.source, [&] { return counter.load(cuda::memory_order_acquire) >= wanted; });
}

}  // namespace

void meet(const BarrierFlags& flags, const WaitLimit& limit, cudaStream_t stream) {
  barrier_kernel<<<1, flags.ranks, 0, stream>>>(flags, limit);
  WEFT_CHECK(cudaGetLastError());
}

void add_signal(std::uint64_t* counter, std::uint64_t add, cudaStream_t stream) {
  signal_kernel<<<1, 1, 0, stream>>>(counter, add);
  WEFT_CHECK(cudaGetLastError());
}

void wait_for_signal(const CounterTarget& target, const WaitLimit& limit, cudaStream_t stream) {
  wait_kernel<<<1, 1, 0, stream>>>(target, limit);
  WEFT_CHECK(cudaGetLastError());
}

}  // namespace weft::calibration::device
