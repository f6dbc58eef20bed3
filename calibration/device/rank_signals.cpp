#include "calibration/device/rank_signals.hpp"

#include <algorithm>
#include <atomic>
#include <type_traits>

#include "models/schedule/counters.hpp"
#include "models/schedule/facts.hpp"

namespace weft::calibration::device {
namespace {

constexpr Bytes flag_bytes = sizeof(std::uint32_t), counter_bytes = sizeof(std::uint64_t);

std::size_t index(int id) { return static_cast<std::size_t>(id); }

bool has_barrier_or_counter(const Schedule& schedule) {
  const auto is_one = [](const Operation& operation) { return is_barrier(facts(operation.work)); };
  return std::ranges::any_of(schedule.operations, is_one) || !counter_uses(schedule).empty();
}

}  // namespace

WaitNote::WaitNote() {
  void* memory = nullptr;
  WEFT_CHECK(cudaHostAlloc(&memory, sizeof(std::uint64_t), cudaHostAllocMapped));
  memory_ = PinnedMemory(memory);
  *address() = 0;
}

void WaitNote::check(const Schedule& schedule) const {
  const std::uint64_t note = std::atomic_ref(*address()).load();
  if (note == 0) return;
  const auto operation = index(static_cast<OperationId>((note >> 32) - 1));
  // Where schedules take turns, the one that noted it may be another, with more operations.
  const std::string name = operation < schedule.operations.size() ? schedule.operations[operation].name : "of a mix";
  throw ExecutionError("operation \"" + name + "\" waited too long for rank " + std::to_string(note & 0xffffffffU));
}

RankSignals::RankSignals(const Schedule& schedule, int rank, SymmetricMemory& symmetric, const WaitNote& note,
                         double limit_s)
    : rank_(rank), ranks_(schedule.gpus), note_(note.address()), limit_ns_(static_cast<std::uint64_t>(limit_s * 1e9)) {
  static_assert(std::extent_v<decltype(BarrierFlags::of_rank)> == max_ranks);
  if (has_barrier_or_counter(schedule)) symmetric.require_atomics();
  for (std::size_t id = 0; id < schedule.operations.size(); ++id) {
    if (!is_barrier(facts(schedule.operations[id].work))) continue;
    BarrierFlags& flags = barriers_[static_cast<OperationId>(id)];
    flags.rank = rank_, flags.ranks = ranks_;
    const PeerAddresses addresses = symmetric.allocate(ranks_ * flag_bytes);
    for (int peer = 0; peer < ranks_; ++peer) flags.of_rank[peer] = static_cast<std::uint32_t*>(addresses[index(peer)]);
  }
  plan_counters(schedule, symmetric);
}

void RankSignals::plan_counters(const Schedule& schedule, SymmetricMemory& symmetric) {
  for (const CounterUse& use : counter_uses(schedule)) {
    counters_.push_back(symmetric.allocate(counter_bytes));
    for (const CounterWait& wait : use.waits) {
      CounterTarget& target = waits_[wait.operation];
      target.counter = static_cast<std::uint64_t*>(counters_.back()[index(rank_)]);
      target.iterations = static_cast<std::uint64_t*>(symmetric.allocate(counter_bytes)[index(rank_)]);
      target.value = static_cast<std::uint64_t>(wait.value);
      target.total = static_cast<std::uint64_t>(use.total());
      target.source = rank_of(-use.signals.front().place);
    }
  }
}

void RankSignals::clear(cudaStream_t stream) const {
  const auto zero = [stream](void* memory, Bytes bytes) {
    WEFT_CHECK(cudaMemsetAsync(memory, 0, static_cast<std::size_t>(bytes), stream));
  };
  for (const auto& [id, flags] : barriers_) zero(flags.of_rank[rank_], ranks_ * flag_bytes);
  for (const PeerAddresses& counter : counters_) zero(counter[index(rank_)], counter_bytes);
  for (const auto& [id, target] : waits_) zero(target.iterations, counter_bytes);
}

void RankSignals::barrier(OperationId id, cudaStream_t stream) const { meet(barriers_.at(id), limit(id), stream); }

void RankSignals::signal(const Signal& signal, cudaStream_t stream) const {
  void* counter = counters_[index(signal.counter)][index(rank_of(signal.place))];
  add_signal(static_cast<std::uint64_t*>(counter), static_cast<std::uint64_t>(signal.add), stream);
}

void RankSignals::wait(OperationId id, cudaStream_t stream) const { wait_for_signal(waits_.at(id), limit(id), stream); }

}  // namespace weft::calibration::device
