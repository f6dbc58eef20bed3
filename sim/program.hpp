// A schedule in execution: the streams of all ranks, in order, iteration after iteration. What an operation costs is
// the device's business; when it may begin is decided here.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "models/check/wait_chain.hpp"
#include "models/schedule/facts.hpp"
#include "sim/activity.hpp"
#include "sim/engine.hpp"

namespace weft::sim {

/// Fixed times between operations. In a CUDA graph one successor of a node continues its chain, the first-created that
/// is no collective; the others, and all operations without predecessors but the first, start later by `fork_gap`.
struct ProgramTiming {
  Picoseconds kernel_gap;        ///< end of an operation to the start of one that waits for it alone
  Picoseconds collective_gap;    ///< the same where that one is a collective
  Picoseconds join_gap;          ///< last end to the start of an operation that waits for several
  Picoseconds fork_gap;          ///< end to the start of an operation that does not continue the chain
  Picoseconds before_copy_gap;   ///< end of a kernel to the start of a copy from or to a peer
  Picoseconds after_copy_gap;    ///< end of such a copy to the start of a kernel
  Picoseconds copy_gap_spread;   ///< before_copy_gap is up to so much longer on one stream
  Picoseconds copy_fork_spread;  ///< and up to so much from one stream to another
  Picoseconds copy_gap;          ///< end of such a copy to the start of another
  Picoseconds copy_stream_gap;   ///< after_copy_gap is longer for each stream with such copies but the first
  Picoseconds iteration_gap;     ///< end of an iteration to the start of the next
  Picoseconds host_launch;       ///< eager: host time of one operation
  Picoseconds barrier;           ///< last arrival to the first departure
  Picoseconds barrier_skew;      ///< first to last departure
  Picoseconds signal;            ///< counter written until who waits for it goes on
  int hardware_queues = 0;       ///< eager: streams beyond that share one; 0: each has its own
  double starts_first = 0;  ///< share of iterations in which a collective at the beginning of a graph starts before the
                            ///< other operations there; 0: nothing races
  std::vector<Picoseconds> start_skew;  ///< by rank; empty: all start together
};

/// A rank's counter in one iteration.
class CounterState {
 public:
  void add(Engine& engine, std::int64_t value);
  /// What happens once the count has reached `value`; the reference stays valid.
  Occurrence& reaching(Engine& engine, std::int64_t value);
  std::int64_t count() const { return count_; }
  /// Sets the counter back by what a satisfied wait waited for.
  void take(std::int64_t value);

 private:
  std::int64_t count_ = 0;
  std::map<std::int64_t, std::unique_ptr<Occurrence>> reached_;
};

class Program {
 public:
  /// Runs `iterations` iterations of `ranks` ranks: either the schedule's, or 1 when all ranks are the same.
  Program(Engine& engine, Device& device, const Schedule& schedule, const ProgramTiming& timing, int ranks,
          int iterations);
  Program(const Program&) = delete;  // coroutines point at it

  /// Starts all streams and runs the engine until nothing is left. Throws ExecutionError for a deadlock, which names
  /// the cycle: who waits for whom, and for what.
  void run();

  Activity& activity(int rank, int iteration, OperationId id) {
    return activities_[(static_cast<std::size_t>(iteration) * ranks_ + rank) * schedule_.operations.size() + id];
  }
  Picoseconds begin_of(int rank, int iteration) { return begins_[index(rank, iteration)].time(); }
  Picoseconds end_of(int rank, int iteration) { return ends_[index(rank, iteration)].time(); }

 private:
  struct Edge {
    OperationId operation;
    Point point;
    int tile_group;
    Picoseconds gap;
    Picoseconds spread = {};  ///< the gap is longer by a part of it, each time another
  };
  struct Meeting {
    int arrived = 0;
    Occurrence all_here;
  };

  std::size_t index(int rank, int iteration) const { return static_cast<std::size_t>(iteration) * ranks_ + rank; }
  void find_edges();
  void set_graph_gaps();
  Picoseconds root_offset(int iteration, OperationId id) const;
  void set_copy_gaps();
  void set_eager_gaps();
  void prepare(Activity& activity);
  Process run_rank(int rank);
  Process run_stream(int rank, StreamId stream);
  Process wait_for_counter(Activity& activity, Wait wait);
  Process meet(Activity& activity, int channel);
  Process signal_tile_group(Activity& activity, TileSignal signal);
  Process delay(Activity& activity, Picoseconds time);
  void begin(Activity& activity);
  Picoseconds share_of(Picoseconds spread, const Activity& activity) const;
  CounterState& counter(int rank, int iteration, CounterId id) { return counters_[{iteration, rank, id}]; }
  int peer(int rank, int place) const { return (rank + place + ranks_) % ranks_; }
  int key(int rank, OperationId id) const;
  std::string name(int rank, OperationId id) const;
  Blocked waits_for(int rank, OperationId id, const std::string& why, OperationId other) const;
  Blocked why_stuck(int rank, int iteration, OperationId id);
  Blocked waits_for_counter(int rank, int iteration, OperationId id, CounterId counter_id, std::int64_t value);
  std::string stuck();

  Engine& engine_;
  Device& device_;
  const Schedule& schedule_;
  ProgramTiming timing_;
  int ranks_, iterations_;
  std::vector<Facts> facts_;  // by operation
  std::vector<std::vector<OperationId>> stream_order_;
  std::vector<std::vector<Edge>> edges_;  // by operation
  std::vector<Picoseconds> root_offset_;  // by operation
  std::vector<OperationId>
      queued_behind_;                 // by operation: the one of another stream before it in its hardware queue, or -1
  std::vector<int> barrier_number_;   // by operation: how many barriers of its channel came before
  std::vector<Activity> activities_;  // never more nor fewer: waiters hold references
  std::vector<Occurrence> begins_, ends_;                             // of iterations
  std::map<std::tuple<int, int, CounterId>, CounterState> counters_;  // iteration, rank, counter
  std::map<std::tuple<int, int, int>, Meeting> meetings_;             // iteration, channel, number
  std::deque<Process> processes_;
};

}  // namespace weft::sim
