#include "calibration/device/rank_signals.hpp"

#include <algorithm>
#include <atomic>

#include "calibration/device/group_counts.hpp"
#include "calibration/device/peer_kernels.hpp"
#include "models/schedule/counters.hpp"

namespace weft::calibration::device {
namespace {

constexpr Bytes flag_bytes = sizeof(std::uint32_t), counter_bytes = sizeof(std::uint64_t);

/// Words that each rank has on every other: one for each CTA that meets those of the peers, 1 of a barrier, 2 of a
/// GEMM, in which ranks say that they have begun and that they have ended; 0 of what meets nobody or by means of its
/// own.
int words_of_meeting(const Work& work) {
  return match(
      work, [](const Barrier&) { return 1; },
      [](const Collective& collective) {
        return collective.transport == Transport::peer_kernel ? peer_ctas(collective) : 0;
      },
      [](const AllReduceNorm& norm) { return norm.ctas; },
      [](const GroupedExchange& exchange) {
        return exchange.transport == Transport::peer_kernel ? peer_ctas(exchange) : 0;
      },
      [](const Gemm& gemm) { return ranks_meet(gemm) ? 2 : 0; },
      [](const OneOf<GroupedGemm, Copy, MemoryBound, Attention, PartialAttention, Signal, Wait, Delay> auto&) {
        return 0;
      });
}

/// What the group of tiles that alone raises a counter adds for each 1 of the schedule; 1 of any other counter.
std::int64_t adds_of_lone_group(const CounterUse& use, const Schedule& schedule, int rank) {
  if (use.signals.size() != 1 || use.signals.front().tile_group < 0) return 1;
  const CounterSignal& lone = use.signals.front();
  return group_counts(schedule, lone.operation, rank)[index(lone.tile_group)].adds;
}

bool has_meeting_or_counter(const Schedule& schedule) {
  const auto meets = [](const Operation& operation) { return words_of_meeting(operation.work) > 0; };
  return std::ranges::any_of(schedule.operations, meets) || !counter_uses(schedule).empty();
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
  const std::string who = operation >= index(between_turns) ? "the meeting between turns"
                          : operation < schedule.operations.size()
                              ? "operation \"" + schedule.operations[operation].name + "\""
                              : "an operation of the mix";
  throw ExecutionError(who + " waited too long for rank " + std::to_string(note & 0xffffffffU));
}

RankSignals::RankSignals(const Schedule& schedule, int rank, SymmetricMemory& symmetric, const WaitNote& note,
                         double limit_s, OperationId noted_from)
    : rank_(rank),
      ranks_(schedule.gpus),
      note_(note.address()),
      limit_ns_(static_cast<std::uint64_t>(limit_s * 1e9)),
      noted_from_(noted_from) {
  if (has_meeting_or_counter(schedule)) symmetric.require_atomics();
  for (std::size_t id = 0; id < schedule.operations.size(); ++id) {
    const int words = words_of_meeting(schedule.operations[id].work);
    if (words == 0) continue;
    auto& [flags, bytes] = meetings_[static_cast<OperationId>(id)];
    flags.rank = rank_, flags.ranks = ranks_;
    bytes = words * ranks_ * flag_bytes;
    const PeerAddresses addresses = symmetric.allocate(bytes);
    for (int peer = 0; peer < ranks_; ++peer) flags.of_rank[peer] = static_cast<std::uint32_t*>(addresses[index(peer)]);
  }
  plan_counters(schedule, symmetric);
  const std::uint64_t one = 1;
  one_ = make_device_memory(sizeof one);
  WEFT_CHECK(cudaMemcpy(one_.get(), &one, sizeof one, cudaMemcpyHostToDevice));
}

void RankSignals::plan_counters(const Schedule& schedule, SymmetricMemory& symmetric) {
  const std::vector<CounterUse> uses = counter_uses(schedule);
  for (CounterId id = 0; id < static_cast<CounterId>(uses.size()); ++id) {
    const CounterUse& use = uses[index(id)];
    counters_.push_back(symmetric.allocate(ranks_ * counter_bytes));
    const std::vector<std::int64_t> totals = use.totals_by_place(ranks_);
    const std::int64_t adds = adds_of_lone_group(use, schedule, rank_);
    for (const CounterWait& wait : use.waits)
      for (int place = 0; place < ranks_; ++place) {
        const std::int64_t total = totals[index(place)];
        if (total == 0) continue;
        const int source = rank_of(-place);
        // Only where one rank adds is anything waited for but all of it.
        waits_[{wait.operation, wait.tile_group, id}].push_back(
            {.counter = word(id, rank_, source),
             .iterations = static_cast<std::uint64_t*>(symmetric.allocate(counter_bytes)[index(rank_)]),
             .value = static_cast<std::uint64_t>(std::min(wait.value, total) * adds),
             .total = static_cast<std::uint64_t>(total * adds),
             .source = source,
             .is_word = use.signals.front().is_copied_word});
      }
  }
}

std::uint64_t RankSignals::count_starts(OperationId id, std::uint64_t* counter) {
  Meeting& meeting = meetings_.at(id);
  meeting.flags.started = counter;
  return static_cast<std::uint64_t>(meeting.bytes / flag_bytes / ranks_);
}

void RankSignals::clear(cudaStream_t stream) const {
  const auto zero = [stream](void* memory, Bytes bytes) {
    WEFT_CHECK(cudaMemsetAsync(memory, 0, static_cast<std::size_t>(bytes), stream));
  };
  for (const auto& [id, meeting] : meetings_) zero(meeting.flags.of_rank[rank_], meeting.bytes);
  for (const PeerAddresses& counter : counters_) zero(counter[index(rank_)], ranks_ * counter_bytes);
  for (const auto& [id, targets] : waits_)
    for (const CounterTarget& target : targets) zero(target.iterations, counter_bytes);
}

void RankSignals::barrier(OperationId id, cudaStream_t stream) const { meet(flags(id), limit(id), stream); }

void RankSignals::signal(const Signal& signal, cudaStream_t stream) const {
  std::uint64_t* const there = counter(signal.counter, signal.place);
  if (signal.path == SignalPath::copied_word)
    WEFT_CHECK(cudaMemcpyAsync(there, one_.get(), sizeof *there, cudaMemcpyDeviceToDevice, stream));
  else
    add_signal(there, static_cast<std::uint64_t>(signal.add), stream);
}

void RankSignals::wait(OperationId id, CounterId counter, cudaStream_t stream) const {
  wait_for_signals(targets(id, -1, counter), limit(id), stream);
}

}  // namespace weft::calibration::device
