// Kernels that wait for other ranks or streams. Each has a time limit: a kernel that spins for ever cannot be ended
// from outside.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <span>

#include "calibration/max_ranks.hpp"
#include "models/schedule/schedule.hpp"

namespace weft::calibration::device {

/// The driver loads a kernel when it is first launched, and only once those before it have ended: too late where one of
/// those waits for its signal. To be called before anything of a program is launched.
void load_waiting_kernels();

/// How long operation `operation` may wait. When the time is up it notes so; from then on no kernel waits any more, and
/// what was enqueued comes to its end.
struct WaitLimit {
  std::uint64_t limit_ns = 0;
  std::uint64_t* note = nullptr;  ///< mapped host memory: 0, or (operation + 1) << 32 | rank that it waited for
  OperationId operation = 0;
};

/// Flags of one barrier on each rank: one for every rank that comes to it, all 0 when nobody waits.
struct BarrierFlags {
  std::uint32_t* of_rank[max_ranks] = {};
  int rank = 0, ranks = 1;
  std::uint64_t* started = nullptr;  ///< each CTA of a kernel that meets the peers' adds 1 here first; null: none does
};
/// Each thread raises the own flag on one peer, then takes down the peer's own one: what PyTorch's symmetric memory
/// does, at the same cost. The flags are as they were when the last rank has passed.
void meet(const BarrierFlags& flags, const WaitLimit& limit, cudaStream_t stream);

/// Adds to a counter of any rank.
void add_signal(std::uint64_t* counter, std::uint64_t add, cudaStream_t stream);

/// Until `counter`, to which rank `source` alone adds `total` in every iteration, has reached `value` in this one.
/// Nothing sets a counter back: `iterations` counts the runs of this wait. Where `is_word`, a copy writes 1 there, and
/// the wait sets it back to 0.
struct CounterTarget {
  std::uint64_t* counter = nullptr;
  std::uint64_t* iterations = nullptr;
  std::uint64_t value = 1, total = 1;
  int source = 0;
  bool is_word = false;
};
/// Waits for all of them, at most max_ranks, by a thread each.
void wait_for_signals(std::span<const CounterTarget> targets, const WaitLimit& limit, cudaStream_t stream);

}  // namespace weft::calibration::device
