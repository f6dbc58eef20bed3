// How a program's operations follow one another: events between streams, and counters where an operation follows a
// group of tiles or a kernel's start.
#include <algorithm>

#include "calibration/device/group_counts.hpp"
#include "calibration/device/program.hpp"
#include "calibration/device/start_edges.hpp"
#include "models/schedule/own_kernels.hpp"

namespace weft::calibration::device {

void Program::plan_edges() {
  const auto& operations = schedule_.operations;
  waits_.resize(operations.size());
  count_waits_.resize(operations.size());
  ends_.resize(operations.size());
  std::vector<OperationId> last_of_stream(schedule_.streams.size(), -1);
  std::vector<bool> joined(operations.size(), false);
  for (std::size_t id = 0; id < operations.size(); ++id) {
    const Operation& operation = operations[id];
    for (const After& after : operation.after) {
      if (operations[index(after.operation)].stream == operation.stream) continue;
      plan_edge(static_cast<OperationId>(id), after);
      if (operation.stream == 0 && after.point == Point::end) joined[index(after.operation)] = true;
    }
    const bool is_first = last_of_stream[index(operation.stream)] < 0;
    if (is_first && operation.stream != 0 && waits_[id].empty()) forks_.push_back(operation.stream);
    last_of_stream[index(operation.stream)] = static_cast<OperationId>(id);
  }
  for (std::size_t stream = 1; stream < last_of_stream.size(); ++stream)
    if (const OperationId last = last_of_stream[stream]; last >= 0 && !joined[index(last)]) joins_.push_back(last);

  const auto record_end = [this](OperationId id) {
    if (!ends_[index(id)]) ends_[index(id)] = make_event(Timed::no);
  };
  for (const auto& followed : waits_) std::ranges::for_each(followed, record_end);
  std::ranges::for_each(joins_, record_end);
}

void Program::plan_edge(OperationId id, const After& after) {
  const bool is_counted = counts_its_ctas(schedule_.operations[index(after.operation)].work);
  switch (after.point) {
    case Point::end:
      return waits_[index(id)].push_back(after.operation);
    case Point::all_ctas_started:
      if (is_counted) return wait_for_ctas(id, after);
      return start_signals_[after.operation].push_back({wait_for_told_start(id, after), make_event(Timed::no)});
    case Point::tile_group:
      return wait_for_tiles(id, after);
    case Point::first_cta_started:
      if (is_counted) return wait_for_ctas(id, after);
      break;
  }
  refuse(id);
}

/// Operation `id` waits until a counter of its own is raised by 1 in every iteration.
CounterTarget& Program::wait_for_count(OperationId id, const After& after) {
  auto* words = static_cast<std::uint64_t*>(resources_.arena.allocate(2 * sizeof(std::uint64_t)));
  WEFT_CHECK(cudaMemset(words, 0, 2 * sizeof(std::uint64_t)));
  count_wait_ends_.try_emplace(id, make_event(Timed::no));
  begins_.try_emplace(after.operation, make_event(Timed::no));
  const CounterTarget target{.counter = words, .iterations = words + 1, .source = rank_};
  return count_waits_[index(id)].emplace_back(CountWait{target, after.operation}).target;
}

void Program::wait_for_tiles(OperationId id, const After& after) {
  CounterTarget& target = wait_for_count(id, after);
  const std::int64_t adds = group_counts(schedule_, after.operation, rank_)[index(after.tile_group)].adds;
  target.value = target.total = static_cast<std::uint64_t>(adds);
  tile_edges_[after.operation].push_back({after.tile_group, target.counter});
}

std::uint64_t* Program::wait_for_told_start(OperationId id, const After& after) {
  std::uint64_t* const counter = wait_for_count(id, after).counter;
  count_waits_[index(id)].back().is_of_start = true;
  return counter;
}

/// Of a kernel that counts them itself, for all that follow it.
void Program::wait_for_ctas(OperationId id, const After& after) {
  CounterTarget& target = wait_for_count(id, after);
  const auto [followed, is_first] = counted_starts_.try_emplace(after.operation, CountedStarts{target.counter, 0});
  CountedStarts& starts = followed->second;
  if (is_first) starts.ctas = signals_.count_starts(after.operation, starts.counter);
  target.counter = starts.counter;
  target.total = starts.ctas;
  target.value = after.point == Point::first_cta_started ? 1 : starts.ctas;
}

cudaStream_t Program::stream_of_start_signals() const {
  return resources_.streams.get(static_cast<int>(streams_.size()), 0);
}

/// Beside the stream: what it runs meanwhile does not have to end before the kernel that waits begins, nor does that
/// stand between two copies. Not before what is followed may begin: while a kernel of whatever kind stays on an SM, the
/// library's GEMMs, whose 384 threads take 168 registers each, find no room there, and take a wave more (5 to 25 % on
/// H100s and H200s).
cudaStream_t Program::stream_of_count_waits(StreamId stream) const {
  return resources_.streams.get(static_cast<int>(streams_.size()) + 1 + stream, 0);
}

void Program::wait_for_counts(OperationId id, StreamId stream) const {
  const auto end = count_wait_ends_.find(id);
  if (end == count_wait_ends_.end()) return;
  const cudaStream_t beside = stream_of_count_waits(stream);
  for (const CountWait& wait : count_waits_[index(id)]) {
    WEFT_CHECK(cudaStreamWaitEvent(beside, begins_.at(wait.followed).get(), cudaEventWaitDefault));
    enqueue(wait, id, beside);
  }
  WEFT_CHECK(cudaEventRecord(end->second.get(), beside));
  WEFT_CHECK(cudaStreamWaitEvent(streams_[index(stream)], end->second.get(), cudaEventWaitDefault));
}

void Program::enqueue(const CountWait& wait, OperationId id, cudaStream_t stream) const {
  if (is_absent_) return;
  wait.is_of_start ? wait_for_start(wait.target.counter, stream)
                   : wait_for_signals({&wait.target, 1}, signals_.limit(id), stream);
}

void Program::enqueue_one_by_one() const {
  for (OperationId id = 0; id < static_cast<OperationId>(schedule_.operations.size()); ++id) {
    for (const CountWait& wait : count_waits_[index(id)]) enqueue(wait, id, origin());
    enqueue_work(id, origin());
    if (const auto found = start_signals_.find(id); found != start_signals_.end())
      for (const StartSignal& signal : found->second) add_signal(signal.counter, 1, origin());
  }
}

/// Outside of a graph CUDA has no such edge: there, before the capture, who follows the start follows the end.
void Program::signal_starts(OperationId id, const Captured& before, cudaStream_t stream) const {
  const auto found = start_signals_.find(id);
  if (found == start_signals_.end()) return;
  const cudaGraphNode_t kernel = first_kernel_since(before, stream);
  for (const StartSignal& signal : found->second) {
    const cudaStream_t beside = kernel == nullptr ? stream : stream_of_start_signals();
    if (kernel == nullptr)
      add_signal(signal.counter, 1, stream);
    else
      signal_start(kernel, signal.counter, beside);
    WEFT_CHECK(cudaEventRecord(signal.end.get(), beside));
  }
}

}  // namespace weft::calibration::device
