// How the ranks of one program meet and signal one another: flags of its barriers, and of the kernels whose CTAs meet
// those of the peers, and its counters.
//
// Every barrier operation has flags of its own, so that the ranks' barriers of one channel match in the order of their
// launch whatever their streams do. Counters only grow, and a wait knows how often it ran: an iteration can follow the
// one before it at once.
#pragma once

#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "calibration/device/symmetric_memory.hpp"
#include "calibration/device/waiting_kernels.hpp"

namespace weft::calibration::device {

/// Into what there is one of for each operation or stream.
inline std::size_t index(int id) { return static_cast<std::size_t>(id); }

/// Of the time limit: a rank that waits in vain says so before the parent, which knows less, ends it.
inline constexpr double share_of_one_wait = 0.5;

/// Added to the ids of operations of no schedule, those between turns, so that they are not taken for those of one.
inline constexpr OperationId between_turns = 1 << 24;

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
  /// Collective where the schedule has barriers or counters. `limit_s`: of each wait, which is noted as of operation
  /// id + `noted_from`.
  RankSignals(const Schedule& schedule, int rank, SymmetricMemory& symmetric, const WaitNote& note, double limit_s,
              OperationId noted_from = 0);

  /// Before the first iteration, on every rank before any begins.
  void clear(cudaStream_t stream) const;
  void barrier(OperationId id, cudaStream_t stream) const;
  void signal(const Signal& signal, cudaStream_t stream) const;
  void wait(OperationId id, CounterId counter, cudaStream_t stream) const;
  /// This rank's word of the counter of rank + place.
  std::uint64_t* counter(CounterId id, int place) const { return word(id, rank_of(place), rank_); }
  /// What the tiles of a group (-1: a Wait) wait for in a counter: the word of each rank that adds to it.
  std::span<const CounterTarget> targets(OperationId id, int tile_group, CounterId counter) const {
    return waits_.at({id, tile_group, counter});
  }
  WaitLimit limit(OperationId id) const { return {limit_ns_, note_, id + noted_from_}; }
  /// Of a kernel that meets the peers': word i of all ranks begin at i x ranks; CTA i has word i, where CTAs meet.
  const BarrierFlags& flags(OperationId id) const { return meetings_.at(id).flags; }
  /// From now on the CTAs of such a kernel of ours are counted as they start. Returns how many it has.
  std::uint64_t count_starts(OperationId id, std::uint64_t* counter);

 private:
  void plan_counters(const Schedule& schedule, SymmetricMemory& symmetric);
  int rank_of(int place) const { return (rank_ + place + ranks_) % ranks_; }
  std::uint64_t* word(CounterId id, int rank, int source) const {
    return static_cast<std::uint64_t*>(counters_[index(id)][index(rank)]) + source;
  }

  int rank_, ranks_;
  std::uint64_t* note_;
  std::uint64_t limit_ns_;
  OperationId noted_from_;
  DeviceMemory one_;  ///< a word, which copies write into counters
  struct Meeting {
    BarrierFlags flags;
    Bytes bytes = 0;
  };
  std::map<OperationId, Meeting> meetings_;
  /// A word for each rank: so what one adds, of whatever iteration, is never taken for what another has yet to add.
  std::vector<PeerAddresses> counters_;
  std::map<std::tuple<OperationId, int, CounterId>, std::vector<CounterTarget>> waits_;
};

}  // namespace weft::calibration::device
