#include "scenarios/families/collective_kernels.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "models/base/input_error.hpp"
#include "models/schedule/facts.hpp"
#include "models/schedule/transports.hpp"

namespace weft::scenarios::families {
namespace {

Work over(Collectives choice, const Work& work) {
  return match(
      work,
      [&](Collective collective) -> Work {
        collective.transport = transport_of(choice, collective.kind);
        if (collective.transport == Transport::nccl_copy_engine) collective.max_ctas = 0;
        return collective;
      },
      [&](GroupedExchange exchange) -> Work {
        exchange.transport = transport_of_exchange(choice);
        return exchange;
      },
      [](const OneOf<Gemm, GroupedGemm, AllReduceNorm, Copy, MemoryBound, Attention, PartialAttention, Signal, Wait,
                     Barrier, Delay> auto& other) -> Work { return other; });
}

void append(std::vector<After>& to, const std::vector<After>& edges) {
  for (const After& edge : edges)
    if (std::find(to.begin(), to.end(), edge) == to.end()) to.push_back(edge);
}

/// Leaves operations out one after the other, in the schedule's order.
class Remaining {
 public:
  explicit Remaining(const Schedule& schedule)
      : last_(schedule.streams.size()), waiting_(schedule.streams.size()), edges_to_(schedule.operations.size()) {}

  void keep(std::size_t id, Operation operation) {
    std::vector<After> after = std::exchange(waiting_[operation.stream], {});
    for (const After& edge : operation.after) append(after, followed(edge));
    operation.after = std::move(after);
    const auto position = static_cast<OperationId>(operations_.size());
    edges_to_[id] = {After{position}};
    last_[operation.stream] = position;
    operations_.push_back(std::move(operation));
  }
  /// The next operation on its stream, and all that follow it, wait for what it waited for.
  void leave_out(std::size_t id, const Operation& operation) {
    for (const After& edge : operation.after) append(waiting_[operation.stream], followed(edge));
    edges_to_[id] = waiting_[operation.stream];
    if (const auto& last = last_[operation.stream]) append(edges_to_[id], {After{*last}});
  }
  std::vector<Operation> operations() && { return std::move(operations_); }

 private:
  std::vector<After> followed(const After& edge) const {
    std::vector<After> edges = edges_to_[static_cast<std::size_t>(edge.operation)];
    if (edges.size() == 1 && edges.front().point == Point::end)
      edges.front().point = edge.point, edges.front().tile_group = edge.tile_group;
    return edges;
  }

  std::vector<std::optional<OperationId>> last_;  ///< kept, by stream
  std::vector<std::vector<After>> waiting_;       ///< by stream: edges of what was left out since
  std::vector<std::vector<After>> edges_to_;      ///< what an edge to the operation has become
  std::vector<Operation> operations_;
};

/// Of a norm that is fused with a collective nothing would be left to time.
void require_no_fused_norm(const Work& work) {
  match(
      work,
      [](const AllReduceNorm&) {
        throw InputError("schedule.collectives", "expected collectives, with which the norm is fused, got none");
      },
      [](const OneOf<Gemm, GroupedGemm, Collective, GroupedExchange, Copy, MemoryBound, Attention, PartialAttention,
                     Signal, Wait, Barrier, Delay> auto&) {});
}

Schedule without_collectives(Schedule schedule) {
  Remaining remaining(schedule);
  for (std::size_t id = 0; id < schedule.operations.size(); ++id) {
    Operation& operation = schedule.operations[id];
    require_no_fused_norm(operation.work);
    if (facts(operation.work).is_collective)
      remaining.leave_out(id, operation);
    else
      remaining.keep(id, std::move(operation));
  }
  schedule.operations = std::move(remaining).operations();
  if (schedule.operations.empty())
    throw InputError("schedule.collectives", "expected collectives in a workload that is nothing else, got none");
  schedule.meaning.reset();
  return schedule;
}

/// What has to lie in symmetric memory; nothing of what is no collective.
std::vector<Slice> exchanged_by_peers(const Work& work) {
  return match(
      work,
      [](const Collective& collective) {
        const bool is_mapped = !facts(collective).by_library || needs_window(collective.transport);
        return is_mapped ? std::vector{collective.input, collective.output} : std::vector<Slice>{};
      },
      [](const GroupedExchange& exchange) {
        return facts(exchange).by_library ? std::vector<Slice>{} : std::vector{exchange.input};
      },
      [](const OneOf<Gemm, GroupedGemm, AllReduceNorm, Copy, MemoryBound, Attention, PartialAttention, Signal, Wait,
                     Barrier, Delay> auto&) { return std::vector<Slice>{}; });
}

}  // namespace

Transport transport_of(Collectives choice, CollectiveKind kind) {
  const bool is_all_reduce = kind == CollectiveKind::all_reduce;
  switch (choice) {
    case Collectives::nccl_nvls:
      return is_all_reduce ? Transport::nccl_nvls : Transport::nccl;
    case Collectives::nccl_symmetric:
      return does(Transport::nccl_symmetric, kind) ? Transport::nccl_symmetric : Transport::nccl;
    case Collectives::nccl_copy_engine:
      return does(Transport::nccl_copy_engine, kind) ? Transport::nccl_copy_engine : Transport::nccl_symmetric;
    case Collectives::one_shot:
      return is_all_reduce ? Transport::one_shot : Transport::peer_kernel;
    case Collectives::multimem:
      return Transport::multicast;
    case Collectives::two_shot:
      return Transport::peer_kernel;
    case Collectives::nccl:
    case Collectives::none:
      break;
  }
  return Transport::nccl;
}

Transport transport_of_exchange(Collectives choice) {
  const Transport transport = transport_of(choice, CollectiveKind::all_to_all);
  return needs_window(transport) ? Transport::nccl : transport;
}

Schedule with_collectives(Schedule schedule, Collectives choice) {
  if (choice == Collectives::none) return without_collectives(std::move(schedule));
  if (choice == Collectives::nccl) return schedule;
  for (Operation& operation : schedule.operations) {
    operation.work = over(choice, operation.work);
    for (const Slice& slice : exchanged_by_peers(operation.work))
      schedule.buffers[static_cast<std::size_t>(slice.buffer)].memory = Memory::symmetric;
  }
  return schedule;
}

}  // namespace weft::scenarios::families
