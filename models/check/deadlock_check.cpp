#include "models/check/deadlock_check.hpp"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "models/check/wait_chain.hpp"
#include "models/schedule/counters.hpp"
#include "models/schedule/facts.hpp"
#include "models/schedule/hardware_queues.hpp"

namespace weft {
namespace {

class AbstractRun {
 public:
  explicit AbstractRun(const Schedule& schedule)
      : schedule_(schedule),
        queues_(schedule.streams.size()),
        heads_(schedule.streams.size(), 0),
        states_(schedule.operations.size()),
        queued_behind_(queued_behind(schedule, schedule.max_connections)),
        counters_(schedule.counters.size(), 0),
        behind_(schedule.operations.size()),
        waiting_(schedule.counters.size()) {
    for (OperationId id = 0; id < static_cast<OperationId>(schedule.operations.size()); ++id) {
      const Operation& operation = schedule.operations[at(id)];
      queues_[at(operation.stream)].push_back(id);
      states_[at(id)].group_done.assign(at(tile_groups(operation.work).count), false);
    }
  }

  /// Goes round the streams as long as something has happened for one of them.
  void run() {
    for (StreamId stream = 0; stream < static_cast<StreamId>(queues_.size()); ++stream) awake_.insert(stream);
    for (StreamId next = 0; !awake_.empty();) {
      const auto found = awake_.lower_bound(next);
      const StreamId stream = found == awake_.end() ? *awake_.begin() : *found;
      awake_.erase(stream);
      advance_stream(stream);
      next = stream + 1;
    }
    for (std::size_t stream = 0; stream < queues_.size(); ++stream)
      if (heads_[stream] < queues_[stream].size()) report(queues_[stream][heads_[stream]]);
  }

 private:
  struct State {
    bool is_started = false, is_done = false;
    std::vector<bool> group_done;
  };

  static std::size_t at(int id) { return static_cast<std::size_t>(id); }

  using Streams = std::set<StreamId>;

  void advance_stream(StreamId stream) {
    for (std::size_t& head = heads_[at(stream)]; head < queues_[at(stream)].size(); ++head) {
      const OperationId id = queues_[at(stream)][head];
      const bool progress = advance(id);
      if (progress) wake(behind_[at(id)]);
      if (states_[at(id)].is_done) continue;
      if (progress)
        awake_.insert(stream);
      else
        sleep(stream, id);
      return;
    }
  }

  void wake(Streams& streams) {
    awake_.merge(streams);
    streams.clear();
  }

  /// Until something happens that the operation, at the head of the stream, may wait for.
  void sleep(StreamId stream, OperationId id) {
    const Operation& operation = schedule_.operations[at(id)];
    if (!states_[at(id)].is_started) {
      const After* after = waiting_for(operation);
      behind_[at(after != nullptr ? after->operation : queued_behind_[at(id)])].insert(stream);
      return;
    }
    match(
        operation.work, [&](const Wait& wait) { waiting_[at(wait.counter)].insert(stream); },
        [&](const Gemm& gemm) {
          for (const TileWait& wait : gemm.waits) waiting_[at(wait.counter)].insert(stream);
        },
        [](const OneOf<GroupedGemm, Collective, AllReduceNorm, GroupedExchange, Copy, MemoryBound, Attention,
                       PartialAttention, Signal, Barrier, Delay> auto&) {});
  }

  void add(CounterId counter, std::int64_t value) {
    counters_[at(counter)] += value;
    wake(waiting_[at(counter)]);
  }

  /// Has anything happened?
  bool advance(OperationId id) {
    State& state = states_[at(id)];
    const Operation& operation = schedule_.operations[at(id)];
    bool progress = false;
    if (!state.is_started) {
      if (waiting_for(operation) || waits_in_queue(id)) return false;
      state.is_started = progress = true;
    }
    state.is_done = match(
        operation.work,
        [&](const Gemm& gemm) {
          progress |= advance_groups(gemm, state);
          return std::find(state.group_done.begin(), state.group_done.end(), false) == state.group_done.end();
        },
        [&](const Wait& wait) {
          std::int64_t& count = counters_[at(wait.counter)];
          if (count < wait.value) return false;
          if (schedule_.counters[at(wait.counter)].reset_by_wait) count -= wait.value;
          return true;
        },
        [&](const Signal& signal) {
          add(signal.counter, signal.add);
          return true;
        },
        [](const OneOf<GroupedGemm, Collective, AllReduceNorm, GroupedExchange, Copy, MemoryBound, Attention,
                       PartialAttention, Barrier, Delay> auto&) { return true; });
    return progress || state.is_done;
  }

  /// Groups that wait for nothing more run, in their order.
  bool advance_groups(const Gemm& gemm, State& state) {
    std::vector<std::vector<CounterId>> signals(state.group_done.size());
    for (const TileSignal& signal : gemm.signals) signals[at(signal.tile_group)].push_back(signal.counter);
    std::vector<std::vector<const TileWait*>> waits(state.group_done.size());
    for (const TileWait& wait : gemm.waits) waits[at(wait.tile_group)].push_back(&wait);
    bool progress = false;
    for (std::size_t group = 0; group < state.group_done.size(); ++group) {
      const auto is_open = [&](const TileWait* wait) { return counters_[at(wait->counter)] < wait->value; };
      if (state.group_done[group] || std::any_of(waits[group].begin(), waits[group].end(), is_open)) continue;
      state.group_done[group] = progress = true;
      for (const CounterId counter : signals[group]) add(counter, 1);
    }
    return progress;
  }

  /// An edge that is not satisfied yet, or null.
  const After* waiting_for(const Operation& operation) const {
    for (const After& after : operation.after) {
      const State& target = states_[at(after.operation)];
      const bool has_come = after.point == Point::end          ? target.is_done
                            : after.point == Point::tile_group ? target.group_done.at(at(after.tile_group))
                                                               : target.is_started;
      if (!has_come) return &after;
    }
    return nullptr;
  }

  /// Something of another stream stands before it in its hardware queue and has not been launched.
  bool waits_in_queue(OperationId id) const {
    const OperationId front = queued_behind_[at(id)];
    return front >= 0 && !states_[at(front)].is_started;
  }

  std::string name(OperationId id) const {
    const Operation& operation = schedule_.operations[at(id)];
    return "\"" + operation.name + "\" on stream \"" + schedule_.streams[at(operation.stream)].name + "\"";
  }
  std::string short_name(OperationId id) const { return "\"" + schedule_.operations[at(id)].name + "\""; }

  /// Of an operation that is not done.
  Blocked why(OperationId id) const {
    const Operation& operation = schedule_.operations[at(id)];
    const auto stream = at(operation.stream);
    const OperationId head = queues_[stream][heads_[stream]];
    if (head != id) return {short_name(id) + " comes after " + short_name(head) + " on its stream", head};
    if (!states_[at(id)].is_started) {
      if (const After* after = waiting_for(operation))
        return {name(id) + " follows " + short_name(after->operation), after->operation};
      return {name(id) + " stands behind " + short_name(queued_behind_[at(id)]) + " in one of the " +
                  std::to_string(schedule_.max_connections) + " hardware queues",
              queued_behind_[at(id)]};
    }
    return match(
        operation.work, [&](const Wait& wait) { return why(id, wait.counter, wait.value); },
        [&](const Gemm& gemm) {
          for (const TileWait& wait : gemm.waits)
            if (counters_[at(wait.counter)] < wait.value) return why(id, wait.counter, wait.value);
          return Blocked{name(id) + " waits", -1};
        },
        [&](const OneOf<GroupedGemm, Collective, AllReduceNorm, GroupedExchange, Copy, MemoryBound, Attention,
                        PartialAttention, Signal, Barrier, Delay> auto&) {
          return Blocked{name(id) + " waits", -1};
        });
  }

  Blocked why(OperationId id, CounterId counter, std::int64_t value) const {
    Blocked blocked{name(id) + " waits for counter \"" + schedule_.counters[at(counter)].name + "\" to reach " +
                        std::to_string(value) + ", it stays at " + std::to_string(counters_[at(counter)]),
                    -1};
    for (const CounterSignal& signal : uses_[at(counter)].signals) {
      const State& state = states_[at(signal.operation)];
      if (state.is_done || (signal.tile_group >= 0 && state.group_done[at(signal.tile_group)])) continue;
      blocked.sentence += " until " + short_name(signal.operation) + rank_of(signal) + " adds to it";
      blocked.waits_for = signal.operation;
      break;
    }
    return blocked;
  }

  static std::string rank_of(const CounterSignal& signal) {
    if (signal.place == 0) return "";
    return " of rank " + std::string(signal.place > 0 ? "- " : "+ ") + std::to_string(std::abs(signal.place));
  }

  /// Points and queues alone close no cycle, so a stuck stream leads to a counter.
  [[noreturn]] void report(OperationId start) {
    uses_ = counter_uses(schedule_);
    const auto why_blocked = [&](int id) {
      return id < 0 || states_[at(id)].is_done ? std::nullopt : std::optional(why(id));
    };
    throw InputError("operations[" + std::to_string(start) + "]",
                     "expected no deadlock, but " + describe_wait_chain(why_blocked, start));
  }

  const Schedule& schedule_;
  std::vector<std::vector<OperationId>> queues_;
  std::vector<std::size_t> heads_;
  std::vector<State> states_;
  std::vector<OperationId> queued_behind_;  // by operation
  std::vector<std::int64_t> counters_;
  Streams awake_;                 // whose heads may have become free
  std::vector<Streams> behind_;   // by operation, that sleep until something happens to it
  std::vector<Streams> waiting_;  // by counter
  std::vector<CounterUse> uses_;  // of the counters, for the report
};

}  // namespace

void check_deadlock(const Schedule& schedule) { AbstractRun(schedule).run(); }

bool runs_one_by_one(const Schedule& schedule) {
  Schedule on_one_stream = schedule;
  on_one_stream.streams.resize(1);
  on_one_stream.max_connections = 0;
  for (Operation& operation : on_one_stream.operations) operation.stream = 0;
  try {
    check_deadlock(on_one_stream);
  } catch (const InputError&) {
    return false;
  }
  return true;
}

}  // namespace weft
