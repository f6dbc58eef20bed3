#include "models/check/happens_before.hpp"

#include <algorithm>
#include <numeric>

#include "models/schedule/facts.hpp"

namespace weft {
namespace {

constexpr int iterations = 2;

/// What a counter has reached with each of its signals, if they come in one order: all are operations of one stream of
/// one rank. Empty where they do not.
std::vector<std::int64_t> sums_in_order(const Schedule& schedule, const CounterUse& use) {
  const auto stream = [&](const CounterSignal& signal) { return schedule.operations[at(signal.operation)].stream; };
  std::vector<std::int64_t> sums;
  for (const CounterSignal& signal : use.signals) {
    const CounterSignal& first = use.signals.front();
    const bool is_in_order = signal.tile_group < 0 && signal.place == first.place && stream(signal) == stream(first);
    if (!is_in_order) return {};
    sums.push_back(signal.add + (sums.empty() ? 0 : sums.back()));
  }
  return sums;
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

HappensBefore::HappensBefore(const Schedule& schedule) : schedule_(schedule), uses_(counter_uses(schedule)) {
  number_moments();
  for (int iteration = 0; iteration < iterations; ++iteration)
    for (int rank = 0; rank < schedule.gpus; ++rank) {
      order_rank(iteration, rank);
      for (CounterId id = 0; id < static_cast<CounterId>(uses_.size()); ++id) order_counter(iteration, rank, id);
    }
  sort();
}

void HappensBefore::number_moments() {
  block_size_ = 1;  // the end of the iteration
  for (const Operation& operation : schedule_.operations) {
    Moments moments{block_size_};
    const TileGroups groups = tile_groups(operation.work);
    const bool lies_between_meetings = facts(operation.work).meetings > 1;
    moments.parts = std::max(1, groups.count) + (groups.reads_operands_before_waits() ? 1 : 0);
    moments.has_own_parts =
        lies_between_meetings || !groups.tiles.empty() || !groups.waits.empty() || !groups.signals.empty();
    block_size_ += 2 + (moments.has_own_parts ? 2 * moments.parts : 0);
    moments_.push_back(moments);
  }
  const std::size_t blocks = iterations * at(schedule_.gpus);
  first_target_.assign(blocks * (at(block_size_) + uses_.size()) + 2 * iterations * schedule_.operations.size() + 1, 0);
}

int HappensBefore::parts(OperationId id) const { return of(id).parts; }
int HappensBefore::begin(int iteration, int rank, OperationId id, int part) const {
  return start_of(iteration, rank, id) + (of(id).has_own_parts ? 2 + 2 * part : 0);
}
int HappensBefore::end(int iteration, int rank, OperationId id, int part) const {
  return begin(iteration, rank, id, part) + 1;
}

/// Between the last start and the first end of a barrier or collective; the second one of a kernel in which the ranks
/// meet twice lies between its last store and its first end.
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
  if (of(id).has_own_parts)
    for (int part = 0; part < parts(id); ++part) {
      edge(start, begin(iteration, rank, id, part));
      edge(begin(iteration, rank, id, part), end(iteration, rank, id, part));
      edge(end(iteration, rank, id, part), end_moment);
    }
  const int meetings = facts(operation.work).meetings;
  if (meetings > 0) {
    edge(start, meeting(iteration, id));
    edge(meeting(iteration, id), end_moment);
    const int behind =
        of(id).has_own_parts ? std::max(1, tile_groups(operation.work).count) : 0;  // not a GEMM's operands
    for (int part = 0; part < behind; ++part) {
      edge(meeting(iteration, id), begin(iteration, rank, id, part));
      if (meetings > 1) edge(end(iteration, rank, id, part), meeting(iteration, id, true));
    }
  }
  if (meetings > 1) edge(meeting(iteration, id, true), end_moment);
  for (int offset = 1; offset < schedule_.gpus; ++offset)
    if (every_rank_receives_from(operation.work, offset, schedule_.gpus))
      edge(start_of(iteration, (rank + schedule_.gpus - offset) % schedule_.gpus, id), end_moment);
}

int HappensBefore::complete(int iteration, int rank, CounterId id) const {
  const int meetings = 2 * iterations * static_cast<int>(schedule_.operations.size());
  return iterations * schedule_.gpus * block_size_ + meetings +
         (iteration * schedule_.gpus + rank) * static_cast<int>(uses_.size()) + id;
}

/// A signal comes after what stands before its operation, or after its tile group.
int HappensBefore::moment_of(int iteration, int rank, const CounterSignal& signal) const {
  const int from = ((rank - signal.place) % schedule_.gpus + schedule_.gpus) % schedule_.gpus;
  return signal.tile_group < 0 ? start_of(iteration, from, signal.operation)
                               : end(iteration, from, signal.operation, signal.tile_group);
}

/// The wait holds its own end, or the begin of its tile group.
void HappensBefore::order_counter(int iteration, int rank, CounterId id) {
  const CounterUse& use = uses_[at(id)];
  const std::int64_t total = use.total();
  const std::vector<std::int64_t> sums = sums_in_order(schedule_, use);
  for (const CounterSignal& signal : use.signals)
    edge(moment_of(iteration, rank, signal), complete(iteration, rank, id));
  for (const CounterWait& wait : use.waits) {
    const int held = wait.tile_group < 0 ? end_of(iteration, rank, wait.operation)
                                         : begin(iteration, rank, wait.operation, wait.tile_group);
    if (wait.value == total)
      edge(complete(iteration, rank, id), held);
    else if (const auto last = std::lower_bound(sums.begin(), sums.end(), wait.value); last != sums.end())
      edge(moment_of(iteration, rank, use.signals[static_cast<std::size_t>(last - sums.begin())]), held);
  }
}

void HappensBefore::sort() {
  std::vector<int> open(moments(), 0);  // predecessors that are not sorted yet
  for (const auto& [from, to] : edges_) ++first_target_[at(from) + 1], ++open[at(to)];
  std::partial_sum(first_target_.begin(), first_target_.end(), first_target_.begin());
  targets_.resize(edges_.size());
  std::vector<std::size_t> next(first_target_.begin(), first_target_.end() - 1);
  for (const auto& [from, to] : edges_) targets_[next[at(from)]++] = to;
  edges_ = {};
  for (std::size_t moment = 0; moment < open.size(); ++moment)
    if (open[moment] == 0) sorted_.push_back(static_cast<int>(moment));
  for (std::size_t i = 0; i < sorted_.size(); ++i)
    for (const int moment : targets_of(sorted_[i]))
      if (--open[at(moment)] == 0) sorted_.push_back(moment);
}

}  // namespace weft
