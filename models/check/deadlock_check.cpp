#include "models/check/deadlock_check.hpp"

#include <algorithm>
#include <cstdlib>

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
        counters_(schedule.counters.size(), 0) {
    for (OperationId id = 0; id < static_cast<OperationId>(schedule.operations.size()); ++id) {
      const Operation& operation = schedule.operations[at(id)];
      queues_[at(operation.stream)].push_back(id);
      states_[at(id)].group_done.assign(at(tile_groups(operation.work).count), false);
    }
  }

  void run() {
    while (advance_all()) {
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

  /// Has anything happened?
  bool advance_all() {
    bool progress = false;
    for (std::size_t stream = 0; stream < queues_.size(); ++stream)
      while (heads_[stream] < queues_[stream].size()) {
        const OperationId id = queues_[stream][heads_[stream]];
        progress |= advance(id);
        if (!states_[at(id)].is_done) break;
        ++heads_[stream];
      }
    return progress;
  }

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
          counters_[at(signal.counter)] += signal.add;
          return true;
        },
        [](const OneOf<GroupedGemm, Collective, AllReduceNorm, GroupedExchange, Copy, MemoryBound, Attention,
                       PartialAttention, Barrier, Delay> auto&) { return true; });
    return progress || state.is_done;
  }

  bool advance_groups(const Gemm& gemm, State& state) {
    bool progress = false;
    for (std::size_t group = 0; group < state.group_done.size(); ++group) {
      if (state.group_done[group] || !can_run(gemm, static_cast<int>(group))) continue;
      state.group_done[group] = progress = true;
      for (const TileSignal& signal : gemm.signals)
        if (at(signal.tile_group) == group) ++counters_[at(signal.counter)];
    }
    return progress;
  }

  bool can_run(const Gemm& gemm, int group) const {
    for (const TileWait& wait : gemm.waits)
      if (wait.tile_group == group && counters_[at(wait.counter)] < wait.value) return false;
    return true;
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
    const std::vector<CounterUse> uses = counter_uses(schedule_);
    for (const CounterSignal& signal : uses[at(counter)].signals) {
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
  [[noreturn]] void report(OperationId start) const {
    std::map<int, Blocked> blocked;
    for (OperationId id = 0; id < static_cast<OperationId>(states_.size()); ++id)
      if (!states_[at(id)].is_done) blocked[id] = why(id);
    throw InputError("operations[" + std::to_string(start) + "]",
                     "expected no deadlock, but " + describe_wait_chain(blocked, start));
  }

  const Schedule& schedule_;
  std::vector<std::vector<OperationId>> queues_;
  std::vector<std::size_t> heads_;
  std::vector<State> states_;
  std::vector<OperationId> queued_behind_;  // by operation
  std::vector<std::int64_t> counters_;
};

}  // namespace

void check_deadlock(const Schedule& schedule) { AbstractRun(schedule).run(); }

}  // namespace weft
