// How the ranks of one program meet and signal one another: flags of its barriers, and of the kernels whose CTAs meet
// those of the peers, and its counters.
//
// Every barrier operation has flags of its own, so that the ranks' barriers of one channel match in the order of their
// launch whatever their streams do. Counters only grow, and a wait knows how often it ran: an iteration can follow the
// one before it at once.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "calibration/device/symmetric_memory.hpp"
#include "calibration/device/waiting_kernels.hpp"

namespace weft::calibration::device {

/// Into what there is one of for each operation or stream.
inline std::size_t index(int id) { return static_cast<std::size_t>(id); }

/// Of the time limit: a rank that waits in vain says so before the parent, which knows less, ends it.
inline constexpr double share_of_one_wait = 0.5;

/// Who waited in vain, as a kernel noted it for the host.
class WaitNote {
 public:
  WaitNote();
  std::uint64_t* address() const { return static_cast<std::uint64_t*>(memory_.get()); }
  /// Throws ExecutionError when a wait of `schedule` took too long.
  void check(const Schedule& schedule) const;

 private:
  PinnedMemory memory_;
};

class RankSignals {
 public:
  /// Collective where the schedule has barriers or counters. `limit_s`: of each wait.
  RankSignals(const Schedule& schedule, int rank, SymmetricMemory& symmetric, const WaitNote& note, double limit_s);

  /// Before the first iteration, on every rank before any begins.
  void clear(cudaStream_t stream) const;
  void barrier(OperationId id, cudaStream_t stream) const;
  void signal(const Signal& signal, cudaStream_t stream) const;
  void wait(OperationId id, cudaStream_t stream) const;
  /// The counter of rank + place, as this rank addresses it.
  std::uint64_t* counter(CounterId id, int place) const {
    return static_cast<std::uint64_t*>(
        counters_[static_cast<std::size_t>(id)][static_cast<std::size_t>(rank_of(place))]);
  }
  /// What the tiles of a group wait for.
  const CounterTarget& target(OperationId id, int tile_group) const { return waits_.at({id, tile_group}); }
  WaitLimit limit(OperationId id) const { return {limit_ns_, note_, id}; }
  /// Of a kernel that meets the peers': word i of all ranks begin at i x ranks; CTA i has word i, where CTAs meet.
  const BarrierFlags& flags(OperationId id) const { return meetings_.at(id).flags; }

 private:
  void plan_counters(const Schedule& schedule, SymmetricMemory& symmetric);
  int rank_of(int place) const { return (rank_ + place + ranks_) % ranks_; }

  int rank_, ranks_;
  std::uint64_t* note_;
  std::uint64_t limit_ns_;
  DeviceMemory one_;  ///< a word, which copies write into counters
  struct Meeting {
    BarrierFlags flags;
    Bytes bytes = 0;
  };
  std::map<OperationId, Meeting> meetings_;
  std::vector<PeerAddresses> counters_;
  std::map<std::pair<OperationId, int>, CounterTarget> waits_;  ///< by tile group, -1 of a Wait
};

}  // namespace weft::calibration::device
