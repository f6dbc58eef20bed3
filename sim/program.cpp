#include "sim/program.hpp"

#include <algorithm>

#include "models/counters.hpp"
#include "models/executor.hpp"
#include "sim/copy_order.hpp"
#include "sim/skew.hpp"

namespace weft::sim {

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
      ends_(begins_.size()),
      positions_(static_cast<std::size_t>(ranks) * schedule.streams.size()) {
  stream_order_.resize(schedule.streams.size());
  for (OperationId id = 0; id < static_cast<OperationId>(schedule.operations.size()); ++id)
    stream_order_[schedule.operations[id].stream].push_back(id);
  find_edges();
  for (int iteration = 0; iteration < iterations; ++iteration)
    for (int rank = 0; rank < ranks; ++rank)
      for (OperationId id = 0; id < static_cast<OperationId>(schedule.operations.size()); ++id) {
        Activity& one = activity(rank, iteration, id);
        one.operation = &schedule.operations[id];
        one.id = id;
        one.rank = rank;
        one.iteration = iteration;
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
    if (const auto* barrier = std::get_if<Barrier>(&operation.work)) barrier_number_[id] = barriers[barrier->channel]++;
  }
  schedule_.launch == Launch::graph ? set_graph_gaps() : set_eager_gaps();
  share_queues();
}

/// Streams beyond the hardware's queues share one: what stands in front there and still waits holds back what other
/// streams enqueued behind it (a false dependency).
void Program::share_queues() {
  queued_behind_.assign(edges_.size(), -1);
  if (timing_.hardware_queues == 0) return;
  std::vector<OperationId> last(static_cast<std::size_t>(timing_.hardware_queues), -1);
  for (OperationId id = 0; id < static_cast<OperationId>(edges_.size()); ++id) {
    OperationId& before = last[schedule_.operations[id].stream % timing_.hardware_queues];
    if (before >= 0 && schedule_.operations[before].stream != schedule_.operations[id].stream)
      queued_behind_[id] = before;
    before = id;
  }
}

void Program::set_graph_gaps() {
  const auto count = static_cast<OperationId>(edges_.size());
  const auto is_collective = [&](OperationId id) {
    return std::holds_alternative<Collective>(schedule_.operations[id].work);
  };
  std::vector<OperationId> continues(edges_.size(), -1);  // the successor that continues each chain
  OperationId first_root = -1;
  for (OperationId id = 0; id < count; ++id) {
    if (edges_[id].empty() && first_root < 0) first_root = id;
    if (edges_[id].empty() && id != first_root) root_offset_[id] = timing_.fork_gap;
    for (const Edge& edge : edges_[id]) {
      OperationId& chain = continues[edge.operation];
      if (chain < 0 || (is_collective(chain) && !is_collective(id))) chain = id;
    }
  }
  for (OperationId id = 0; id < count; ++id)
    for (Edge& edge : edges_[id])
      edge.gap = edges_[id].size() > 1             ? timing_.join_gap
                 : continues[edge.operation] != id ? timing_.fork_gap
                 : is_collective(id)               ? timing_.collective_gap
                                                   : timing_.kernel_gap;
  for (OperationId id = 0; id < count; ++id) {
    const bool to_copy = crosses_ranks(schedule_.operations[id].work);
    const auto comes_from_copy = [&](const Edge& edge) {
      return crosses_ranks(schedule_.operations[edge.operation].work);
    };
    const bool waits_for_copy = std::any_of(edges_[id].begin(), edges_[id].end(), comes_from_copy);
    for (Edge& edge : edges_[id]) {
      if (to_copy && comes_from_copy(edge)) edge.gap = timing_.kernel_gap;
      if (to_copy && !comes_from_copy(edge)) edge.gap = std::max(edge.gap, timing_.before_copy_gap);
      if (!to_copy && waits_for_copy) edge.gap = std::max(edge.gap, timing_.after_copy_gap);
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

/// A GEMM's tile groups are points, add to counters and may wait for counters.
void Program::prepare(Activity& one) {
  const auto* gemm = std::get_if<Gemm>(&one.operation->work);
  if (gemm == nullptr) return;
  one.tile_groups.resize(std::max<std::size_t>(1, gemm->tile_groups.size()));
  for (const TileWait& wait : gemm->waits)
    one.tile_waits.push_back(&counter(one.rank, one.iteration, wait.counter).reaching(engine_, wait.value));
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
  Position& position = positions_[rank * schedule_.streams.size() + stream];
  for (int iteration = 0; iteration < iterations_; ++iteration) {
    co_await Until{begins_[index(rank, iteration)]};
    for (const OperationId id : stream_order_[stream]) {
      Activity& one = activity(rank, iteration, id);
      Picoseconds ready = begin_of(rank, iteration) + root_offset_[id];
      for (const Edge& edge : edges_[id]) {
        Occurrence& point = activity(rank, iteration, edge.operation).point(edge.point, edge.tile_group);
        position = {id, edge.operation};
        co_await Until{point};
        ready = std::max(ready, point.time() + edge.gap);
      }
      if (const OperationId front = queued_behind_[id]; front >= 0) {
        position = {id, front};
        co_await Until{activity(rank, iteration, front).launched};
      }
      const auto launched = static_cast<std::int64_t>(iteration) * static_cast<std::int64_t>(edges_.size()) + id + 1;
      ready = std::max(ready, timing_.host_launch * launched);
      co_await Sleep{engine_, ready};
      position = {id, -1};
      begin(one);
      co_await Until{one.end};
    }
    position = {};
  }
}

void Program::begin(Activity& one) {
  one.launched.happen(engine_);
  const Work& work = one.operation->work;
  if (const auto* signal = std::get_if<Signal>(&work)) {
    counter(peer(one.rank, signal->place), one.iteration, signal->counter).add(engine_, signal->add);
    one.first_cta_started.happen(engine_);
    one.all_ctas_started.happen(engine_);
    one.end.happen(engine_);
  } else if (const auto* wait = std::get_if<Wait>(&work)) {
    processes_.push_back(wait_for_counter(one, *wait));
  } else if (const auto* barrier = std::get_if<Barrier>(&work)) {
    processes_.push_back(meet(one, barrier->channel));
  } else if (const auto* pause = std::get_if<Delay>(&work); pause != nullptr && pause->held_sms == 0) {
    processes_.push_back(delay(one, from_us(pause->time_us)));
  } else {
    if (const auto* gemm = std::get_if<Gemm>(&work))
      for (const TileSignal& tile_signal : gemm->signals) processes_.push_back(signal_tile_group(one, tile_signal));
    device_.start(one);
  }
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

std::string Program::signallers_of(CounterId id) const {
  const CounterUse use = counter_uses(schedule_)[id];
  std::string names;
  for (const CounterSignal& signal : use.signals)
    names += (names.empty() ? "" : ", ") + schedule_.operations[signal.operation].name;
  return names.empty() ? "" : " (added to by " + names + ")";
}

std::string Program::describe(const Position& position) const {
  const Operation& operation = schedule_.operations[position.operation];
  if (position.waits_for >= 0) return operation.name + " waits for " + schedule_.operations[position.waits_for].name;
  if (const auto* wait = std::get_if<Wait>(&operation.work))
    return operation.name + " waits for counter " + schedule_.counters[wait->counter].name + " to reach " +
           std::to_string(wait->value) + signallers_of(wait->counter);
  if (std::holds_alternative<Barrier>(operation.work)) return operation.name + " waits for the other ranks";
  return operation.name + " never gets what it needs to end";
}

std::string Program::stuck() const {
  std::string message = "nothing can go on";
  const std::size_t streams = schedule_.streams.size();
  for (std::size_t i = 0; i < positions_.size(); ++i)
    if (positions_[i].operation >= 0)
      message += "; rank " + std::to_string(i / streams) + ", stream " + schedule_.streams[i % streams].name + ": " +
                 describe(positions_[i]);
  return message;
}

}  // namespace weft::sim
