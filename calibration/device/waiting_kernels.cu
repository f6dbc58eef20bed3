#include <algorithm>
#include <type_traits>

#include "calibration/device/carveout.hpp"
#include "calibration/device/check.hpp"
#include "calibration/device/waiting.cuh"
#include "calibration/device/waiting_kernels.hpp"

namespace weft::calibration::device {
namespace {

__global__ void barrier_kernel(BarrierFlags flags, WaitLimit limit) {
  const int peer = static_cast<int>(threadIdx.x);
  if (peer == flags.rank) return;
  if (change(flags.of_rank[peer] + flags.rank, 0, 1, cuda::memory_order_release, limit, peer))
    change(flags.of_rank[flags.rank] + peer, 1, 0, cuda::memory_order_acquire, limit, peer);
}

__global__ void signal_kernel(std::uint64_t* counter, std::uint64_t add) {
  SharedWord<std::uint64_t>(*counter).fetch_add(add, cuda::memory_order_release);
}

struct CounterTargets {
  CounterTarget of_thread[std::extent_v<decltype(BarrierFlags::of_rank)>];
};

__global__ void wait_kernel(CounterTargets targets, WaitLimit limit) {
  const CounterTarget& target = targets.of_thread[threadIdx.x];
  if (target.is_word)
    change(target.counter, 1, 0, cuda::memory_order_acquire, limit, target.source);
  else
    wait_for_count(target, (*target.iterations)++, limit);
}

}  // namespace

void load_waiting_kernels() {
  for (const void* kernel :
       {reinterpret_cast<const void*>(barrier_kernel), reinterpret_cast<const void*>(signal_kernel),
        reinterpret_cast<const void*>(wait_kernel)}) {
    cudaFuncAttributes attributes{};
    WEFT_CHECK(cudaFuncGetAttributes(&attributes, kernel));
  }
}

void meet(const BarrierFlags& flags, const WaitLimit& limit, cudaStream_t stream) {
  leave_shared_memory(reinterpret_cast<const void*>(barrier_kernel));
  barrier_kernel<<<1, flags.ranks, 0, stream>>>(flags, limit);
  WEFT_CHECK(cudaGetLastError());
}

void add_signal(std::uint64_t* counter, std::uint64_t add, cudaStream_t stream) {
  leave_shared_memory(reinterpret_cast<const void*>(signal_kernel));
  signal_kernel<<<1, 1, 0, stream>>>(counter, add);
  WEFT_CHECK(cudaGetLastError());
}

void wait_for_signals(std::span<const CounterTarget> targets, const WaitLimit& limit, cudaStream_t stream) {
  leave_shared_memory(reinterpret_cast<const void*>(wait_kernel));
  CounterTargets all;
  std::ranges::copy(targets, all.of_thread);
  wait_kernel<<<1, static_cast<unsigned>(targets.size()), 0, stream>>>(all, limit);
  WEFT_CHECK(cudaGetLastError());
}

}  // namespace weft::calibration::device
