#include "models/check/happens_before.hpp"

#include <algorithm>

#include "models/schedule/counters.hpp"
#include "models/schedule/facts.hpp"

namespace weft {
namespace {

constexpr int iterations = 2;

std::size_t at(int id) { return static_cast<std::size_t>(id); }

/// Signals that must have come once the counter has reached the value of `wait`.
std::vector<CounterSignal> signals_before(const Schedule& schedule, const CounterUse& use, const CounterWait& wait) {
  if (use.total() == wait.value) return use.signals;
  const auto stream = [&](const CounterSignal& signal) { return schedule.operations[at(signal.operation)].stream; };
  std::vector<CounterSignal> needed;
  std::int64_t sum = 0;
  for (const CounterSignal& signal : use.signals) {
    const CounterSignal& first = use.signals.front();
    const bool is_in_order = signal.tile_group < 0 && signal.place == first.place && stream(signal) == stream(first);
    if (!is_in_order) return {};
    if (sum < wait.value) needed.push_back(signal);
    sum += signal.add;
  }
  return needed;
}

/// In it, from rank - `offset`: what holds on every rank may count as order, since one rank stands for all.
bool every_rank_receives_from(const Work& work, int offset, int gpus) {
  return match(
      work,
      [&](const GroupedExchange& exchange) {
        for (int rank = 0; rank < gpus; ++rank)
          if (exchange.rows[at((rank + gpus - offset) % gpus)][at(rank)].count == 0) return false;
        return true;
      },
      [](const OneOf<Gemm, GroupedGemm, Collective, AllReduceNorm, Copy, MemoryBound, Attention, PartialAttention,
                     Signal, Wait, Barrier, Delay> auto&) { return false; });
}

}  // namespace

void MomentSets::insert_all_of(int from, int into) {
  const auto source = bits_.begin() + static_cast<std::ptrdiff_t>(at(from) * words_);
  const auto target = bits_.begin() + static_cast<std::ptrdiff_t>(at(into) * words_);
  std::transform(source, source + static_cast<std::ptrdiff_t>(words_), target, target, std::bit_or<>{});
}

HappensBefore::HappensBefore(const Schedule& schedule) : schedule_(schedule) {
  number_moments();
  for (int iteration = 0; iteration < iterations; ++iteration)
    for (int rank = 0; rank < schedule.gpus; ++rank) {
      order_rank(iteration, rank);
      order_counters(iteration, rank);
    }
  sort();
}

void HappensBefore::number_moments() {
  block_size_ = 1;  // the end of the iteration
  for (const Operation& operation : schedule_.operations) {
    Moments moments{block_size_};
    const TileGroups groups = tile_groups(operation.work);
    const bool lies_between_meetings = facts(operation.work).meetings > 1;
    moments.parts = std::max(1, groups.count);
    moments.has_own_parts =
        lies_between_meetings || !groups.tiles.empty() || !groups.waits.empty() || !groups.signals.empty();
    block_size_ += 2 + (moments.has_own_parts ? 2 * moments.parts : 0);
    moments_.push_back(moments);
  }
  const int blocks = iterations * schedule_.gpus;
  successors_.resize(at(blocks * block_size_) + 2 * iterations * schedule_.operations.size());
}

int HappensBefore::parts(OperationId id) const { return moments(id).parts; }
int HappensBefore::begin(int iteration, int rank, OperationId id, int part) const {
  return start_of(iteration, rank, id) + (moments(id).has_own_parts ? 2 + 2 * part : 0);
}
int HappensBefore::end(int iteration, int rank, OperationId id, int part) const {
  return begin(iteration, rank, id, part) + 1;
}

/// Between the last start and the first end of a barrier or collective; the second one of a fused all-reduce and norm
/// lies between its last store and its first end.
int HappensBefore::meeting(int iteration, OperationId id, bool second) const {
  const int operations = static_cast<int>(schedule_.operations.size());
  return iterations * schedule_.gpus * block_size_ + 2 * (iteration * operations + id) + (second ? 1 : 0);
}

void HappensBefore::order_rank(int iteration, int rank) {
  std::vector<OperationId> last(schedule_.streams.size(), -1);
  for (OperationId id = 0; id < static_cast<OperationId>(schedule_.operations.size()); ++id) {
    OperationId& previous = last[at(schedule_.operations[at(id)].stream)];
    if (previous >= 0) {
      edge(end_of(iteration, rank, previous), start_of(iteration, rank, id));
    } else if (iteration > 0) {
      edge(end_of_iteration(iteration - 1, rank), start_of(iteration, rank, id));
    }
    previous = id;
    order_operation(iteration, rank, id);
  }
  for (const OperationId id : last)
    if (id >= 0) edge(end_of(iteration, rank, id), end_of_iteration(iteration, rank));
}

void HappensBefore::order_operation(int iteration, int rank, OperationId id) {
  const Operation& operation = schedule_.operations[at(id)];
  const int start = start_of(iteration, rank, id), end_moment = end_of(iteration, rank, id);
  for (const After& after : operation.after) {
    const int point = after.point == Point::end          ? end_of(iteration, rank, after.operation)
                      : after.point == Point::tile_group ? end(iteration, rank, after.operation, after.tile_group)
                                                         : start_of(iteration, rank, after.operation);
    edge(point, start);
  }
  edge(start, end_moment);
  if (moments(id).has_own_parts)
    for (int part = 0; part < parts(id); ++part) {
      edge(start, begin(iteration, rank, id, part));
      edge(begin(iteration, rank, id, part), end(iteration, rank, id, part));
      edge(end(iteration, rank, id, part), end_moment);
    }
  const int meetings = facts(operation.work).meetings;
  if (meetings > 0) {
    edge(start, meeting(iteration, id));
    edge(meeting(iteration, id), end_moment);
  }
  if (meetings > 1) {
    edge(meeting(iteration, id), begin(iteration, rank, id, 0));
    edge(end(iteration, rank, id, 0), meeting(iteration, id, true));
    edge(meeting(iteration, id, true), end_moment);
  }
  for (int offset = 1; offset < schedule_.gpus; ++offset)
    if (every_rank_receives_from(operation.work, offset, schedule_.gpus))
      edge(start_of(iteration, (rank + schedule_.gpus - offset) % schedule_.gpus, id), end_moment);
}

/// A signal comes after what stands before its operation, or after its tile group; the wait holds its own end, or the
/// begin of its tile group.
void HappensBefore::order_counters(int iteration, int rank) {
  for (const CounterUse& use : counter_uses(schedule_))
    for (const CounterWait& wait : use.waits)
      for (const CounterSignal& signal : signals_before(schedule_, use, wait)) {
        const int from = ((rank - signal.place) % schedule_.gpus + schedule_.gpus) % schedule_.gpus;
        edge(signal.tile_group < 0 ? start_of(iteration, from, signal.operation)
                                   : end(iteration, from, signal.operation, signal.tile_group),
             wait.tile_group < 0 ? end_of(iteration, rank, wait.operation)
                                 : begin(iteration, rank, wait.operation, wait.tile_group));
      }
}

void HappensBefore::sort() {
  std::vector<int> open(successors_.size(), 0);  // predecessors that are not sorted yet
  for (const auto& next : successors_)
    for (const int moment : next) ++open[at(moment)];
  for (std::size_t moment = 0; moment < open.size(); ++moment)
    if (open[moment] == 0) sorted_.push_back(static_cast<int>(moment));
  for (std::size_t i = 0; i < sorted_.size(); ++i)
    for (const int moment : successors_[at(sorted_[i])])
      if (--open[at(moment)] == 0) sorted_.push_back(moment);
}

MomentSets HappensBefore::before(const std::vector<int>& listed) const {
  MomentSets sets(static_cast<int>(successors_.size()), listed.size());
  for (std::size_t i = 0; i < listed.size(); ++i) sets.insert(listed[i], i);
  for (const int moment : sorted_)
    for (const int next : successors_[at(moment)]) sets.insert_all_of(moment, next);
  return sets;
}

MomentSets HappensBefore::after(const std::vector<int>& listed) const {
  MomentSets sets(static_cast<int>(successors_.size()), listed.size());
  for (std::size_t i = 0; i < listed.size(); ++i) sets.insert(listed[i], i);
  for (auto moment = sorted_.rbegin(); moment != sorted_.rend(); ++moment)
    for (const int next : successors_[at(*moment)]) sets.insert_all_of(next, *moment);
  return sets;
}

}  // namespace weft
