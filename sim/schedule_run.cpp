#include "sim/schedule_run.hpp"

#include <algorithm>
#include <limits>

#include "models/check/wait_chain.hpp"
#include "models/execution/execution_error.hpp"
#include "models/schedule/counters.hpp"
#include "models/schedule/facts.hpp"
#include "sim/skew.hpp"

namespace weft::sim {
namespace {

Picoseconds part_of(Picoseconds time, double share) { return from_us(to_us(time) * share); }

}  // namespace

void CounterState::add(Engine& engine, std::int64_t value) {
  count_ += value;
  for (auto& [needed, occurrence] : reached_)
    if (needed <= count_) occurrence->happen(engine);
}

Occurrence& CounterState::reaching(Engine& engine, std::int64_t value) {
  std::unique_ptr<Occurrence>& occurrence = reached_[value];
  if (!occurrence) occurrence = std::make_unique<Occurrence>();
  if (value <= count_) occurrence->happen(engine);
  return *occurrence;
}

void CounterState::take(std::int64_t value) {
  count_ -= value;
  std::erase_if(reached_, [](const auto& entry) { return entry.second->has_happened(); });
}

ScheduleRun::ScheduleRun(Engine& engine, Device& device, const StreamOrder& order, int ranks)
    : engine_(engine),
      device_(device),
      order_(order),
      schedule_(order.schedule()),
      timing_(order.timing()),
      ranks_(ranks),
      begins_(static_cast<std::size_t>(ranks)) {
  scatter(0);
}

void ScheduleRun::scatter(double over_us) {
  for (int rank = 0; rank < ranks_; ++rank) {
    const Picoseconds skew = timing_.start_skew.empty() ? Picoseconds{} : timing_.start_skew[rank];
    begins_[rank] = skew + from_us(over_us * throw_of(rank, 0));
  }
}

void ScheduleRun::prepare(int iterations) {
  iterations_ = iterations;
  counters_.clear();
  meetings_.clear();
  rank_iterations_.clear();
  rank_iterations_.resize(index(0, iterations));
  const int kept = std::min(iterations, most_kept);
  activities_.resize(index(0, kept) * order_.operations());
  for (int iteration = 0; iteration < kept; ++iteration)
    for (int rank = 0; rank < ranks_; ++rank) prepare_activities(rank, iteration);
}

void ScheduleRun::prepare_activities(int rank, int iteration) {
  rank_iterations_[index(rank, iteration)].operations_left = order_.operations();
  for (OperationId id = 0; id < order_.operations(); ++id) {
    Activity& one = activity(rank, iteration, id);
    if (one.operation == nullptr) introduce(one, rank, id);
    one.iteration = iteration;
    one.occasion = iteration * order_.operations() + id;
    one.part_of = &rank_iterations_[index(rank, iteration)];
    one.rearm();
    prepare_waits(one);
  }
}

/// What is the same in every iteration.
void ScheduleRun::introduce(Activity& one, int rank, OperationId id) {
  const Operation& operation = schedule_.operations[id];
  one.operation = &operation;
  one.id = id;
  one.rank = rank;
  one.priority = schedule_.streams[operation.stream].priority;
  one.is_root = order_.edges(id).empty();
  match(
      operation.work,
      [&](const Gemm& gemm) {
        one.tile_groups.resize(static_cast<std::size_t>(tile_groups(operation.work).count));
        if (ranks_meet(gemm)) one.meeting = std::make_unique<RankMeeting>();
      },
      [](const OneOf<GroupedGemm, Collective, AllReduceNorm, GroupedExchange, Copy, MemoryBound, Attention,
                     PartialAttention, Signal, Wait, Barrier, Delay> auto&) {});
}

/// A GEMM's tile groups may wait for counters; so may a wait that holds SMs.
void ScheduleRun::prepare_waits(Activity& one) {
  one.tile_waits.clear();
  const auto wait_for = [&](CounterId id, std::int64_t value) {
    one.tile_waits.push_back(&counter(one.rank, one.iteration, id).reaching(engine_, value));
  };
  match(
      one.operation->work,
      [&](const Wait& wait) {
        if (wait.held_sms > 0) wait_for(wait.counter, wait.value);
      },
      [&](const Gemm& gemm) {
        for (const TileWait& wait : gemm.waits) wait_for(wait.counter, wait.value);
      },
      [](const OneOf<GroupedGemm, Collective, AllReduceNorm, GroupedExchange, Copy, MemoryBound, Attention,
                     PartialAttention, Signal, Barrier, Delay> auto&) {});
}

void ScheduleRun::run() {
  for (int rank = 0; rank < ranks_; ++rank) {
    run_rank(rank);
    for (StreamId stream = 0; stream < static_cast<StreamId>(schedule_.streams.size()); ++stream)
      run_stream(rank, stream);
  }
  engine_.run();
  processes_.rethrow_failure();
  for (const Iteration& one : rank_iterations_)
    if (!one.end.has_happened()) throw ExecutionError(stuck());
}

void ScheduleRun::note_begin(int rank, int iteration, Picoseconds time) {
  if (iteration >= most_kept && iteration == iterations_ - 1) prepare_activities(rank, iteration);
  rank_iterations_[index(rank, iteration)].begin.note(time);
}

/// Only operations of the last iteration are asked for when a run is over.
void ScheduleRun::note_start(int rank, int iteration, OperationId copy, Picoseconds time) {
  if (iteration < iterations_ - 1) return;
  Activity& one = activity(rank, iteration, copy);
  one.limit = Limit::copy_engine;
  for (Occurrence* occurrence : {&one.launched, &one.first_cta_started, &one.all_ctas_started}) occurrence->note(time);
}

void ScheduleRun::note_end(int rank, int iteration, OperationId copy, Picoseconds time) {
  if (copy == order_.operations() - 1) rank_iterations_[index(rank, iteration)].end.note(time);
  if (iteration == iterations_ - 1) activity(rank, iteration, copy).end.note(time);
}

Process ScheduleRun::run_rank(int rank) {
  Picoseconds start = begins_[rank];
  for (int iteration = 0; iteration < iterations_; ++iteration) {
    co_await Sleep{engine_, start};
    if (iteration >= most_kept) prepare_activities(rank, iteration);
    Iteration& present = rank_iterations_[index(rank, iteration)];
    present.begin.happen(engine_);
    if (order_.operations() == 0) present.end.happen(engine_);
    co_await Until{present.end};
    start = engine_.now() + timing_.iteration_gap;
  }
}

Process ScheduleRun::run_stream(int rank, StreamId stream) {
  for (int iteration = 0; iteration < iterations_; ++iteration) {
    co_await Until{rank_iterations_[index(rank, iteration)].begin};
    for (const OperationId id : order_.on_stream(stream)) {
      Activity& one = activity(rank, iteration, id);
      Picoseconds ready = begin_of(rank, iteration) + order_.root_offset(id, iteration, iterations_);
      for (const StreamEdge& edge : order_.edges(id)) {
        Occurrence& point = activity(rank, iteration, edge.operation).point(edge.point, edge.tile_group);
        co_await Until{point};
        Picoseconds known = point.time();
        if (edge.is_told_from_an_sm) {
          device_.tell_start(one);
          co_await Until{one.start_told};
          known = one.start_told.time();
        }
        ready = std::max(ready, known + edge.gap + share_of(edge.spread, one));
      }
      if (const OperationId front = order_.queued_behind(id); front >= 0)
        co_await Until{activity(rank, iteration, front).launched};
      ready = std::max(ready, order_.launched(id, iteration));
      co_await Sleep{engine_, ready};
      begin(one);
      co_await Until{one.end};
    }
  }
}

/// Of a barrier that all have reached.
Picoseconds ScheduleRun::crossing(const Activity& barrier) const {
  const double late = lateness(barrier.rank, order_.barrier_number(barrier.id));
  const Picoseconds beside_gemm = device_.runs_gemm(barrier.rank) ? timing_.barrier_beside_gemm : Picoseconds{};
  return timing_.barrier + part_of(timing_.barrier_skew, late) + beside_gemm +
         part_of(timing_.barrier_beside_copies, device_.copies_on_their_way());
}

Picoseconds ScheduleRun::share_of(Picoseconds spread, const Activity& one) const {
  if (spread == Picoseconds{}) return {};
  return part_of(spread, lateness(one.rank, one.occasion));
}

void ScheduleRun::begin(Activity& one) {
  one.launched.happen(engine_);
  match(
      one.operation->work, [&](const Signal& signal) { raise_counter(one, signal); },
      [&](const Wait& wait) {
        if (wait.held_sms > 0) return device_.start(one);
        wait_for_counter(one, wait);
      },
      [&](const Barrier& barrier) { meet(one, barrier.channel); },
      [&](const Delay& pause) {
        if (pause.held_sms > 0) return device_.start(one);
        delay(one, from_us(pause.time_us));
      },
      [&](const Gemm& gemm) {
        for (const TileSignal& tile_signal : gemm.signals) signal_tile_group(one, tile_signal);
        if (ranks_meet(gemm)) meet_in_kernel(one, ranks_meet_at_end(gemm));
        device_.start(one);
      },
      [&](const OneOf<GroupedGemm, Collective, AllReduceNorm, GroupedExchange, Copy, MemoryBound, Attention,
                      PartialAttention> auto&) { device_.start(one); });
}

/// Of `one` or of the peer that lies `place` ranks after it.
void ScheduleRun::raise(const Activity& one, int place, CounterId id, std::int64_t by) {
  counter(peer(one.rank, place), one.iteration, id).add(engine_, by);
}

Process ScheduleRun::raise_counter(Activity& one, Signal signal) {
  switch (signal.path) {
    case SignalPath::kernel:
      // A GEMM whose CTAs wait for this very signal may have more of them that wait for SMs.
      device_.admit(one, std::numeric_limits<int>::min());
      co_await Until{one.first_cta_started};
      co_await Sleep{engine_, engine_.now() + timing_.signal_kernel};
      raise(one, signal.place, signal.counter, signal.add);
      device_.dismiss(one);
      break;
    case SignalPath::stream_write:
      one.first_cta_started.happen(engine_);
      one.all_ctas_started.happen(engine_);
      raise(one, signal.place, signal.counter, signal.add);
      break;
    case SignalPath::copied_word:
      device_.start(one);
      co_await Until{one.end};
      co_return raise(one, signal.place, signal.counter, signal.add);
  }
  one.finish(engine_);
}

Process ScheduleRun::wait_for_counter(Activity& one, Wait wait) {
  const bool is_kernel = wait.path == WaitPath::spinning_kernel;
  if (is_kernel) {
    device_.admit(one, one.priority);
    co_await Until{one.first_cta_started};
    co_await Sleep{engine_, engine_.now() + timing_.wait_kernel};
  } else {
    one.first_cta_started.happen(engine_);
    one.all_ctas_started.happen(engine_);
  }
  CounterState& state = counter(one.rank, one.iteration, wait.counter);
  while (state.count() < wait.value) {  // again where another wait took what this one saw
    Occurrence& reached = state.reaching(engine_, wait.value);
    co_await Until{reached};
  }
  if (schedule_.counters[wait.counter].reset_by_wait) state.take(wait.value);
  co_await Sleep{engine_, engine_.now() + timing_.signal};
  if (is_kernel) device_.dismiss(one);
  one.finish(engine_);
}

Process ScheduleRun::meet(Activity& one, int channel) {
  device_.admit(one, one.priority);
  co_await Until{one.first_cta_started};
  Meeting& meeting = meetings_[{one.iteration, channel, order_.barrier_number(one.id)}];
  if (++meeting.arrived == ranks_) meeting.all_here.happen(engine_);
  co_await Until{meeting.all_here};
  co_await Sleep{engine_, engine_.now() + crossing(one)};
  device_.dismiss(one);
  one.finish(engine_);
}

/// Each rank tells the others when it begins and, where they meet at the end, when it has stored everything; it goes on
/// once it knows of all.
Process ScheduleRun::meet_in_kernel(Activity& one, bool at_end) {
  co_await Until{one.first_cta_started};
  Meeting& begin = meeting_in_kernel(one, 0);
  if (++begin.arrived == ranks_) begin.all_here.happen(engine_);
  co_await Until{begin.all_here};
  co_await Sleep{engine_, engine_.now() + timing_.signal};
  one.meeting->all_began.happen(engine_);
  co_await Until{one.meeting->all_stored};
  if (!at_end) co_return one.finish(engine_);
  Meeting& end = meeting_in_kernel(one, 1);
  if (++end.arrived == ranks_) end.all_here.happen(engine_);
  co_await Until{end.all_here};
  co_await Sleep{engine_, engine_.now() + timing_.signal};
  one.finish(engine_);
}

Process ScheduleRun::signal_tile_group(Activity& one, TileSignal signal) {
  co_await Until{one.tile_groups[signal.tile_group]};
  raise(one, signal.place, signal.counter, 1);
}

Process ScheduleRun::delay(Activity& one, Picoseconds time) {
  one.first_cta_started.happen(engine_);
  one.all_ctas_started.happen(engine_);
  co_await Sleep{engine_, engine_.now() + time};
  one.finish(engine_);
}

int ScheduleRun::key(int rank, OperationId id) const { return rank * order_.operations() + id; }

std::string ScheduleRun::name(int rank, OperationId id) const {
  return "\"" + schedule_.operations[id].name + "\"" + (ranks_ > 1 ? " of rank " + std::to_string(rank) : "");
}

Blocked ScheduleRun::waits_for(int rank, OperationId id, const std::string& why, OperationId other) const {
  return {name(rank, id) + " " + why + " " + name(rank, other), key(rank, other)};
}

/// Of an operation that has not ended in its rank's last iteration.
Blocked ScheduleRun::why_stuck(int rank, int iteration, OperationId id) {
  const Activity& one = activity(rank, iteration, id);
  if (!one.launched.has_happened()) {
    for (const StreamEdge& edge : order_.edges(id))
      if (!activity(rank, iteration, edge.operation).point(edge.point, edge.tile_group).has_happened())
        return waits_for(rank, id, "follows", edge.operation);
    return waits_for(rank, id,
                     "stands in one of the " + std::to_string(timing_.hardware_queues) + " hardware queues behind",
                     order_.queued_behind(id));
  }
  const Hindrance hindrance = device_.what_hinders(one);
  if (!hindrance.what.empty())
    return hindrance.operation < 0
               ? Blocked{name(rank, id) + " " + hindrance.what, -1}
               : Blocked{name(rank, id) + " " + hindrance.what + " " + name(hindrance.rank, hindrance.operation),
                         key(hindrance.rank, hindrance.operation)};
  const Blocked unknown{name(rank, id) + " never gets what it needs to end", -1};
  return match(
      one.operation->work,
      [&](const Wait& wait) { return waits_for_counter(rank, iteration, id, wait.counter, wait.value); },
      [&](const Gemm& gemm) {
        for (const TileWait& wait : gemm.waits)
          if (counter(rank, iteration, wait.counter).count() < wait.value)
            return waits_for_counter(rank, iteration, id, wait.counter, wait.value);
        return unknown;
      },
      [&](const Barrier&) {
        for (int other = 0; other < ranks_; ++other)
          if (!activity(other, iteration, id).launched.has_happened())
            return Blocked{name(rank, id) + " waits for " + name(other, id), key(other, id)};
        return unknown;
      },
      [&](const OneOf<GroupedGemm, Collective, AllReduceNorm, GroupedExchange, Copy, MemoryBound, Attention,
                      PartialAttention, Signal, Delay> auto&) { return unknown; });
}

/// Blames the first operation that adds to the counter and has not done so.
Blocked ScheduleRun::waits_for_counter(int rank, int iteration, OperationId id, CounterId counter_id,
                                       std::int64_t value) {
  Blocked blocked{name(rank, id) + " waits for counter \"" + schedule_.counters[counter_id].name + "\" to reach " +
                      std::to_string(value) + ", it stays at " +
                      std::to_string(counter(rank, iteration, counter_id).count()),
                  -1};
  const CounterUse use = counter_uses(schedule_)[counter_id];
  for (const CounterSignal& signal : use.signals) {
    const int from = peer(rank, -signal.place);
    Activity& adds = activity(from, iteration, signal.operation);
    const bool has_added =  // an iteration that is forgotten is over
        adds.iteration > iteration ||
        (signal.tile_group < 0 ? adds.launched.has_happened() : adds.tile_groups[signal.tile_group].has_happened());
    if (has_added) continue;
    blocked.sentence += " until " + name(from, signal.operation) + " adds to it";
    blocked.waits_for = key(from, signal.operation);
    break;
  }
  return blocked;
}

/// The cycle that the first stuck operation leads to.
std::string ScheduleRun::stuck() {
  std::vector<int> stuck_iterations;  // by rank; that of one that has ended is none
  for (int rank = 0; rank < ranks_; ++rank) {
    int iteration = 0;
    while (iteration < iterations_ && rank_iterations_[index(rank, iteration)].end.has_happened()) ++iteration;
    stuck_iterations.push_back(iteration);
  }
  const auto why = [&](int key) -> std::optional<Blocked> {
    if (key < 0) return std::nullopt;
    const int rank = key / order_.operations(), id = key % order_.operations();
    const int iteration = stuck_iterations[static_cast<std::size_t>(rank)];
    if (iteration == iterations_ || activity(rank, iteration, id).end.has_happened()) return std::nullopt;
    return why_stuck(rank, iteration, id);
  };
  int start = 0;
  while (!why(start)) ++start;
  return "a deadlock: " + describe_wait_chain(why, start);
}

}  // namespace weft::sim
