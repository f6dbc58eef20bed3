#include "models/schedule/facts.hpp"

#include <algorithm>
#include <initializer_list>

#include "models/schedule/transports.hpp"

namespace weft {
namespace {

bool any_on_peer(const std::vector<Slice>& slices) {
  return std::any_of(slices.begin(), slices.end(), [](const Slice& slice) { return slice.place != 0; });
}
bool any_on_peer(std::initializer_list<const Slice*> slices) {
  return std::any_of(slices.begin(), slices.end(), [](const Slice* slice) { return slice->place != 0; });
}

bool is_on_peer(const RowBlock& block) {
  return any_on_peer({&block.a, &block.c}) || any_on_peer(block.replicas) || (block.a_from && block.a_from->place != 0);
}

struct FactsOf {
  Facts operator()(const Gemm& gemm) const {
    const bool signals_peer = std::any_of(gemm.signals.begin(), gemm.signals.end(),
                                          [](const TileSignal& signal) { return signal.place != 0; });
    return {.kind = "gemm",
            .role = Role::matrix,
            .crosses_ranks = signals_peer || ranks_meet(gemm) || any_on_peer({&gemm.a, &gemm.b, &gemm.c}) ||
                             any_on_peer(gemm.replicas) || std::ranges::any_of(gemm.earlier, is_on_peer) ||
                             (gemm.a_from && gemm.a_from->place != 0),
            .differs_by_rank = differ_by_rank(gemm.a.rows),
            .meetings = static_cast<int>(gemm.meets)};
  }
  Facts operator()(const GroupedGemm& gemm) const {
    return {.kind = "grouped_gemm",
            .role = Role::matrix,
            .crosses_ranks = any_on_peer({&gemm.a, &gemm.b, &gemm.c}),
            .differs_by_rank = differ_by_rank(gemm.a.rows)};
  }
  Facts operator()(const Collective& collective) const {
    return {.kind = "collective",
            .role = Role::communication,
            .is_collective = true,
            .by_library = collective.transport == Transport::nccl || collective.transport == Transport::nccl_nvls ||
                          needs_window(collective.transport),
            .runs_on_copy_engine = collective.transport == Transport::nccl_copy_engine,
            .crosses_ranks = true,
            .meetings = 1};
  }
  Facts operator()(const AllReduceNorm&) const {
    return {.kind = "all_reduce_norm",
            .role = Role::communication,
            .is_collective = true,
            .crosses_ranks = true,
            .meetings = 2};
  }
  Facts operator()(const GroupedExchange& exchange) const {
    return {.kind = "grouped_exchange",
            .role = Role::communication,
            .is_collective = true,
            .by_library = exchange.transport == Transport::nccl,
            .crosses_ranks = true,
            .differs_by_rank = true};
  }
  Facts operator()(const Copy& copy) const {
    const bool is_between_ranks = copy.source.place != copy.destination.place;
    return {.kind = "copy",
            .role = is_between_ranks ? Role::communication : Role::memory,
            .runs_on_copy_engine = copy.path == CopyPath::copy_engine,
            .crosses_ranks = any_on_peer({&copy.source, &copy.destination}),
            .differs_by_rank = differ_by_rank(copy.source.rows)};
  }
  Facts operator()(const MemoryBound& kernel) const {
    return {.kind = "memory_bound",
            .role = Role::memory,
            .crosses_ranks = any_on_peer(kernel.reads) || any_on_peer(kernel.writes)};
  }
  Facts operator()(const Attention& attention) const {
    return {.kind = "attention",
            .role = Role::attention,
            .crosses_ranks = any_on_peer({&attention.qkv, &attention.output})};
  }
  Facts operator()(const PartialAttention& attention) const {
    return {.kind = "partial_attention",
            .role = Role::attention,
            .crosses_ranks =
                any_on_peer({&attention.queries, &attention.keys_values, &attention.output, &attention.log_sum_exp}),
            .differs_by_rank = true};
  }
  Facts operator()(const Signal& signal) const {
    return {.kind = "signal",
            .role = Role::synchronisation,
            .runs_on_copy_engine = signal.path == SignalPath::copied_word,
            .crosses_ranks = signal.place != 0};
  }
  Facts operator()(const Wait&) const { return {.kind = "wait", .role = Role::synchronisation}; }
  Facts operator()(const Barrier&) const {
    return {.kind = "barrier", .role = Role::synchronisation, .crosses_ranks = true, .meetings = 1};
  }
  Facts operator()(const Delay&) const { return {.kind = "delay", .role = Role::synchronisation}; }
};

}  // namespace

Facts facts(const Work& work) { return match(work, FactsOf{}); }

bool has_library_on_branch(const Schedule& schedule) {
  return std::any_of(schedule.operations.begin(), schedule.operations.end(), [](const Operation& operation) {
    return operation.stream != 0 && facts(operation.work).by_library;
  });
}

std::string_view kind_of(const Work& work) { return facts(work).kind; }

bool TileGroups::reads_operands_before_waits() const {
  return meets || std::any_of(waits.begin(), waits.end(), [](const TileWait& wait) { return wait.for_addend; });
}

TileGroups tile_groups(const Work& work) {
  return match(
      work,
      [](const Gemm& gemm) {
        return TileGroups{static_cast<int>(std::max<std::size_t>(1, gemm.tile_groups.size())), gemm.tile_groups,
                          gemm.signals, gemm.waits, ranks_meet(gemm)};
      },
      [](const OneOf<GroupedGemm, Collective, AllReduceNorm, GroupedExchange, Copy, MemoryBound, Attention,
                     PartialAttention, Signal, Wait, Barrier, Delay> auto&) { return TileGroups{}; });
}

}  // namespace weft
