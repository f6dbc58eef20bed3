// A schedule in execution: the streams of all ranks, in order, iteration after iteration. What an operation costs is
// the device's business; when it may begin is decided here.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "models/check/wait_chain.hpp"
#include "sim/activity.hpp"
#include "sim/engine.hpp"
#include "sim/stream_order.hpp"

namespace weft::sim {

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

class ScheduleRun {
 public:
  /// Of `ranks` ranks: either the schedule's, or 1 when all ranks are the same.
  ScheduleRun(Engine& engine, Device& device, const StreamOrder& order, int ranks);
  ScheduleRun(const ScheduleRun&) = delete;  // coroutines point at it

  /// From the next prepare() on ranks begin their first iterations scattered over so much time, besides the timing's
  /// start_skew.
  void scatter(double over_us);
  Picoseconds begin_of_first(int rank) const { return begins_[rank]; }
  /// Begins anew, at time 0. Whoever waits for an activity of the first two iterations may do so before run().
  void prepare(int iterations);
  /// Starts all streams and runs the engine until nothing is left. Throws ExecutionError for a deadlock, which names
  /// the cycle: who waits for whom, and for what.
  void run();

  /// Instead of run(), by who knows without it when an iteration, and a copy in it, began and ended: from the first one
  /// on, in their order.
  void note_begin(int rank, int iteration, Picoseconds time);
  void note_start(int rank, int iteration, OperationId copy, Picoseconds time);
  void note_end(int rank, int iteration, OperationId copy, Picoseconds time);

  /// Until the rank begins the second iteration after this one, which uses the same memory.
  Activity& activity(int rank, int iteration, OperationId id) {
    return activities_[index(rank, iteration % most_kept) * order_.operations() + id];
  }
  Picoseconds begin_of(int rank, int iteration) const { return rank_iterations_[index(rank, iteration)].begin.time(); }
  Picoseconds end_of(int rank, int iteration) const { return rank_iterations_[index(rank, iteration)].end.time(); }
  Processes& processes() { return processes_; }

 private:
  struct Meeting {
    int arrived = 0;
    Occurrence all_here;
  };
  static constexpr int most_kept = 2;  // iterations of a rank: the present one and the one before

  std::size_t index(int rank, int iteration) const { return static_cast<std::size_t>(iteration) * ranks_ + rank; }
  void prepare_activities(int rank, int iteration);
  void introduce(Activity& activity, int rank, OperationId id);
  void prepare_waits(Activity& activity);
  Process run_rank(int rank);
  Process run_stream(int rank, StreamId stream);
  void raise(const Activity& activity, int place, CounterId id, std::int64_t by);
  Process raise_counter(Activity& activity, Signal signal);
  Process wait_for_counter(Activity& activity, Wait wait);
  Process meet(Activity& activity, int channel);
  Process meet_in_kernel(Activity& activity, bool at_end);
  Process signal_tile_group(Activity& activity, TileSignal signal);
  Process delay(Activity& activity, Picoseconds time);
  void begin(Activity& activity);
  Picoseconds crossing(const Activity& barrier) const;
  Picoseconds share_of(Picoseconds spread, const Activity& activity) const;
  CounterState& counter(int rank, int iteration, CounterId id) { return counters_[{iteration, rank, id}]; }
  /// Number 0: all have begun the operation; 1: all have stored.
  Meeting& meeting_in_kernel(const Activity& one, int number) {
    return meetings_[{one.iteration, -1 - static_cast<int>(one.id), number}];
  }
  int peer(int rank, int place) const { return (rank + place + ranks_) % ranks_; }
  int key(int rank, OperationId id) const;
  std::string name(int rank, OperationId id) const;
  Blocked waits_for(int rank, OperationId id, const std::string& why, OperationId other) const;
  Blocked why_stuck(int rank, int iteration, OperationId id);
  Blocked waits_for_counter(int rank, int iteration, OperationId id, CounterId counter_id, std::int64_t value);
  std::string stuck();

  Engine& engine_;
  Device& device_;
  const StreamOrder& order_;
  const Schedule& schedule_;
  const StreamTiming& timing_;
  const int ranks_;
  std::vector<Picoseconds> begins_;  // by rank
  int iterations_ = 0;
  FrameVector<Activity> activities_;  // never more nor fewer during a run: waiters hold references
  FrameVector<Iteration> rank_iterations_;
  std::map<std::tuple<int, int, CounterId>, CounterState> counters_;  // iteration, rank, counter
  std::map<std::tuple<int, int, int>, Meeting> meetings_;             // iteration, channel, number
  Processes processes_;
};

}  // namespace weft::sim
