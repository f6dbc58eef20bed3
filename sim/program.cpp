#include "sim/program.hpp"

#include <algorithm>
#include <set>

#include "models/check/wait_chain.hpp"
#include "models/execution/executor.hpp"
#include "models/schedule/counters.hpp"
#include "models/schedule/hardware_queues.hpp"
#include "sim/copy_order.hpp"
#include "sim/skew.hpp"

namespace weft::sim {

namespace {

/// -1: it is no barrier.
int barrier_channel(const Work& work) {
  return match(
      work, [](const Barrier& barrier) { return barrier.channel; },
      [](const OneOf<Gemm, GroupedGemm, Collective, AllReduceNorm, GroupedExchange, Copy, MemoryBound, Attention,
                     PartialAttention, Signal, Wait, Delay> auto&) { return -1; });
}

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

Program::Program(Engine& engine, Device& device, const Schedule& schedule, const ProgramTiming& timing, int ranks,
                 int iterations)
    : engine_(engine),
      device_(device),
      schedule_(schedule),
      timing_(timing),
      ranks_(ranks),
      iterations_(iterations),
      activities_(static_cast<std::size_t>(ranks) * iterations * schedule.operations.size()),
      begins_(static_cast<std::size_t>(ranks) * iterations),
      ends_(begins_.size()) {
  stream_order_.resize(schedule.streams.size());
  for (OperationId id = 0; id < static_cast<OperationId>(schedule.operations.size()); ++id)
    stream_order_[schedule.operations[id].stream].push_back(id);
  for (const Operation& operation : schedule.operations) facts_.push_back(facts(operation.work));
  find_edges();
  for (int iteration = 0; iteration < iterations; ++iteration)
    for (int rank = 0; rank < ranks; ++rank)
      for (OperationId id = 0; id < static_cast<OperationId>(schedule.operations.size()); ++id) {
        Activity& one = activity(rank, iteration, id);
        one.operation = &schedule.operations[id];
        one.id = id;
        one.rank = rank;
        one.iteration = iteration;
        one.occasion = iteration * static_cast<int>(schedule.operations.size()) + id;
        one.priority = schedule.streams[one.operation->stream].priority;
        one.is_root = edges_[id].empty();
        prepare(one);
      }
}

void Program::find_edges() {
  const std::size_t count = schedule_.operations.size();
  edges_.resize(count);
  root_offset_.resize(count);
  barrier_number_.resize(count);
  std::vector<OperationId> last_on_stream(schedule_.streams.size(), -1);
  std::map<int, int> barriers;
  for (OperationId id = 0; id < static_cast<OperationId>(count); ++id) {
    const Operation& operation = schedule_.operations[id];
    const OperationId before = std::exchange(last_on_stream[operation.stream], id);
    if (before >= 0) edges_[id].push_back({before, Point::end, 0, {}});
    for (const After& after : operation.after)
      if (after.operation != before || after.point != Point::end)
        edges_[id].push_back({after.operation, after.point, after.tile_group, {}});
    if (const int channel = barrier_channel(operation.work); channel >= 0) barrier_number_[id] = barriers[channel]++;
  }
  schedule_.launch == Launch::graph ? set_graph_gaps() : set_eager_gaps();
  queued_behind_ = queued_behind(schedule_, timing_.hardware_queues);
}

/// Where a collective races with other roots it starts first in its share of the iterations, and they do in the rest.
Picoseconds Program::root_offset(int iteration, OperationId id) const {
  if (timing_.starts_first == 0) return root_offset_[id];
  const bool is_won = iteration + 0.5 < timing_.starts_first * iterations_;
  if (facts_[id].is_collective) return is_won ? Picoseconds{} : timing_.fork_gap;
  return is_won ? root_offset_[id] : Picoseconds{};
}

void Program::set_graph_gaps() {
  const auto count = static_cast<OperationId>(edges_.size());
  std::vector<OperationId> continues(edges_.size(), -1);  // the successor that continues each chain
  OperationId first_root = -1;
  for (OperationId id = 0; id < count; ++id) {
    if (edges_[id].empty() && first_root < 0) first_root = id;
    if (edges_[id].empty() && id != first_root) root_offset_[id] = timing_.fork_gap;
    for (const Edge& edge : edges_[id]) {
      OperationId& chain = continues[edge.operation];
      if (chain < 0 || (facts_[chain].is_collective && !facts_[id].is_collective)) chain = id;
    }
  }
  for (OperationId id = 0; id < count; ++id)
    for (Edge& edge : edges_[id])
      edge.gap = edges_[id].size() > 1             ? timing_.join_gap
                 : continues[edge.operation] != id ? timing_.fork_gap
                 : facts_[id].is_collective        ? timing_.collective_gap
                                                   : timing_.kernel_gap;
  set_copy_gaps();
}

void Program::set_copy_gaps() {
  std::set<StreamId> copy_streams;
  for (const Operation& operation : schedule_.operations)
    if (is_peer_copy(operation.work)) copy_streams.insert(operation.stream);
  if (copy_streams.empty()) return;
  const Picoseconds after_copy_gap =
      timing_.after_copy_gap + timing_.copy_stream_gap * static_cast<std::int64_t>(copy_streams.size() - 1);
  const auto comes_from_copy = [&](const Edge& edge) {
    return is_peer_copy(schedule_.operations[edge.operation].work);
  };
  for (OperationId id = 0; id < static_cast<OperationId>(edges_.size()); ++id) {
    const bool to_copy = is_peer_copy(schedule_.operations[id].work);
    const bool waits_for_copy = std::any_of(edges_[id].begin(), edges_[id].end(), comes_from_copy);
    for (Edge& edge : edges_[id]) {
      if (!to_copy && waits_for_copy) edge.gap = std::max(edge.gap, after_copy_gap);
      if (!to_copy) continue;
      const bool is_chain = schedule_.operations[edge.operation].stream == schedule_.operations[id].stream;
      edge.gap = comes_from_copy(edge) ? timing_.copy_gap : timing_.before_copy_gap;
      if (!comes_from_copy(edge)) edge.spread = is_chain ? timing_.copy_gap_spread : timing_.copy_fork_spread;
    }
  }
}

/// Streams launched one call at a time: an event from another stream arrives later than the end of the own stream.
void Program::set_eager_gaps() {
  for (OperationId id = 0; id < static_cast<OperationId>(edges_.size()); ++id) {
    // Every iteration forks from stream 0.
    if (edges_[id].empty() && schedule_.operations[id].stream != 0) root_offset_[id] = timing_.fork_gap;
    for (Edge& edge : edges_[id])
      edge.gap = schedule_.operations[edge.operation].stream == schedule_.operations[id].stream ? timing_.kernel_gap
                                                                                                : timing_.fork_gap;
  }
}

/// A GEMM's tile groups are points, add to counters and may wait for counters; so may a wait that holds SMs.
void Program::prepare(Activity& one) {
  const auto wait_for = [&](CounterId id, std::int64_t value) {
    one.tile_waits.push_back(&counter(one.rank, one.iteration, id).reaching(engine_, value));
  };
  match(
      one.operation->work,
      [&](const Wait& wait) {
        if (wait.held_sms > 0) wait_for(wait.counter, wait.value);
      },
      [&](const Gemm& gemm) {
        one.tile_groups.resize(static_cast<std::size_t>(tile_groups(one.operation->work).count));
        for (const TileWait& wait : gemm.waits) wait_for(wait.counter, wait.value);
      },
      [](const OneOf<GroupedGemm, Collective, AllReduceNorm, GroupedExchange, Copy, MemoryBound, Attention,
                     PartialAttention, Signal, Barrier, Delay> auto&) {});
}

void Program::run() {
  for (int rank = 0; rank < ranks_; ++rank) {
    processes_.push_back(run_rank(rank));
    for (StreamId stream = 0; stream < static_cast<StreamId>(schedule_.streams.size()); ++stream)
      processes_.push_back(run_stream(rank, stream));
  }
  engine_.run();
  for (const Process& process : processes_) process.rethrow_failure();
  for (const Occurrence& end : ends_)
    if (!end.has_happened()) throw ExecutionError(stuck());
}

Process Program::run_rank(int rank) {
  Picoseconds start = timing_.start_skew.empty() ? Picoseconds{} : timing_.start_skew[rank];
  for (int iteration = 0; iteration < iterations_; ++iteration) {
    co_await Sleep{engine_, start};
    begins_[index(rank, iteration)].happen(engine_);
    for (OperationId id = 0; id < static_cast<OperationId>(schedule_.operations.size()); ++id)
      co_await Until{activity(rank, iteration, id).end};
    ends_[index(rank, iteration)].happen(engine_);
    start = engine_.now() + timing_.iteration_gap;
  }
}

Process Program::run_stream(int rank, StreamId stream) {
  for (int iteration = 0; iteration < iterations_; ++iteration) {
    co_await Until{begins_[index(rank, iteration)]};
    for (const OperationId id : stream_order_[stream]) {
      Activity& one = activity(rank, iteration, id);
      Picoseconds ready = begin_of(rank, iteration) + root_offset(iteration, id);
      for (const Edge& edge : edges_[id]) {
        Occurrence& point = activity(rank, iteration, edge.operation).point(edge.point, edge.tile_group);
        co_await Until{point};
        ready = std::max(ready, point.time() + edge.gap + share_of(edge.spread, one));
      }
      if (const OperationId front = queued_behind_[id]; front >= 0) {
        co_await Until{activity(rank, iteration, front).launched};
      }
      ready = std::max(ready, timing_.host_launch * (one.occasion + 1));
      co_await Sleep{engine_, ready};
      begin(one);
      co_await Until{one.end};
    }
  }
}

Picoseconds Program::share_of(Picoseconds spread, const Activity& one) const {
  if (spread == Picoseconds{}) return {};
  return from_us(to_us(spread) * lateness(one.rank, one.occasion));
}

void Program::begin(Activity& one) {
  one.launched.happen(engine_);
  match(
      one.operation->work,
      [&](const Signal& signal) {
        counter(peer(one.rank, signal.place), one.iteration, signal.counter).add(engine_, signal.add);
        one.first_cta_started.happen(engine_);
        one.all_ctas_started.happen(engine_);
        one.end.happen(engine_);
      },
      [&](const Wait& wait) {
        wait.held_sms == 0 ? processes_.push_back(wait_for_counter(one, wait)) : device_.start(one);
      },
      [&](const Barrier& barrier) { processes_.push_back(meet(one, barrier.channel)); },
      [&](const Delay& pause) {
        pause.held_sms == 0 ? processes_.push_back(delay(one, from_us(pause.time_us))) : device_.start(one);
      },
      [&](const Gemm& gemm) {
        for (const TileSignal& tile_signal : gemm.signals) processes_.push_back(signal_tile_group(one, tile_signal));
        device_.start(one);
      },
      [&](const OneOf<GroupedGemm, Collective, AllReduceNorm, GroupedExchange, Copy, MemoryBound, Attention,
                      PartialAttention> auto&) { device_.start(one); });
}

Process Program::wait_for_counter(Activity& one, Wait wait) {
  one.first_cta_started.happen(engine_);
  one.all_ctas_started.happen(engine_);
  CounterState& state = counter(one.rank, one.iteration, wait.counter);
  while (state.count() < wait.value) {  // again where another wait took what this one saw
    Occurrence& reached = state.reaching(engine_, wait.value);
    co_await Until{reached};
  }
  if (schedule_.counters[wait.counter].reset_by_wait) state.take(wait.value);
  co_await Sleep{engine_, engine_.now() + timing_.signal};
  one.end.happen(engine_);
}

Process Program::meet(Activity& one, int channel) {
  one.first_cta_started.happen(engine_);
  one.all_ctas_started.happen(engine_);
  Meeting& meeting = meetings_[{one.iteration, channel, barrier_number_[one.id]}];
  if (++meeting.arrived == ranks_) meeting.all_here.happen(engine_);
  co_await Until{meeting.all_here};
  const double late = lateness(one.rank, barrier_number_[one.id]);
  co_await Sleep{engine_, engine_.now() + timing_.barrier + from_us(to_us(timing_.barrier_skew) * late)};
  one.end.happen(engine_);
}

Process Program::signal_tile_group(Activity& one, TileSignal signal) {
  co_await Until{one.tile_groups[signal.tile_group]};
  counter(peer(one.rank, signal.place), one.iteration, signal.counter).add(engine_, 1);
}

Process Program::delay(Activity& one, Picoseconds time) {
  one.first_cta_started.happen(engine_);
  one.all_ctas_started.happen(engine_);
  co_await Sleep{engine_, engine_.now() + time};
  one.end.happen(engine_);
}

int Program::key(int rank, OperationId id) const { return rank * static_cast<int>(schedule_.operations.size()) + id; }

std::string Program::name(int rank, OperationId id) const {
  return "\"" + schedule_.operations[id].name + "\"" + (ranks_ > 1 ? " of rank " + std::to_string(rank) : "");
}

Blocked Program::waits_for(int rank, OperationId id, const std::string& why, OperationId other) const {
  return {name(rank, id) + " " + why + " " + name(rank, other), key(rank, other)};
}

/// Of an operation that has not ended in its rank's last iteration.
Blocked Program::why_stuck(int rank, int iteration, OperationId id) {
  const Activity& one = activity(rank, iteration, id);
  if (!one.launched.has_happened()) {
    for (const Edge& edge : edges_[id])
      if (!activity(rank, iteration, edge.operation).point(edge.point, edge.tile_group).has_happened())
        return waits_for(rank, id, "follows", edge.operation);
    return waits_for(rank, id,
                     "stands in one of the " + std::to_string(timing_.hardware_queues) + " hardware queues behind",
                     queued_behind_[id]);
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
Blocked Program::waits_for_counter(int rank, int iteration, OperationId id, CounterId counter_id, std::int64_t value) {
  Blocked blocked{name(rank, id) + " waits for counter \"" + schedule_.counters[counter_id].name + "\" to reach " +
                      std::to_string(value) + ", it stays at " +
                      std::to_string(counter(rank, iteration, counter_id).count()),
                  -1};
  const CounterUse use = counter_uses(schedule_)[counter_id];
  for (const CounterSignal& signal : use.signals) {
    const int from = peer(rank, -signal.place);
    Activity& adds = activity(from, iteration, signal.operation);
    const bool has_added =
        signal.tile_group < 0 ? adds.launched.has_happened() : adds.tile_groups[signal.tile_group].has_happened();
    if (has_added) continue;
    blocked.sentence += " until " + name(from, signal.operation) + " adds to it";
    blocked.waits_for = key(from, signal.operation);
    break;
  }
  return blocked;
}

/// The cycle that the first stuck operation leads to.
std::string Program::stuck() {
  std::map<int, Blocked> blocked;
  for (int rank = 0; rank < ranks_; ++rank)
    for (int iteration = 0; iteration < iterations_; ++iteration) {
      if (ends_[index(rank, iteration)].has_happened()) continue;
      for (OperationId id = 0; id < static_cast<OperationId>(edges_.size()); ++id)
        if (!activity(rank, iteration, id).end.has_happened()) blocked[key(rank, id)] = why_stuck(rank, iteration, id);
      break;
    }
  return "a deadlock: " + describe_wait_chain(blocked, blocked.begin()->first);
}

}  // namespace weft::sim
