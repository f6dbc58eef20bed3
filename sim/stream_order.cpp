#include "sim/stream_order.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "models/schedule/facts.hpp"
#include "models/schedule/hardware_queues.hpp"
#include "models/schedule/own_kernels.hpp"

namespace weft::sim {
namespace {

/// -1: it is no barrier.
int barrier_channel(const Work& work) {
  return match(
      work, [](const Barrier& barrier) { return barrier.channel; },
      [](const OneOf<Gemm, GroupedGemm, Collective, AllReduceNorm, GroupedExchange, Copy, MemoryBound, Attention,
                     PartialAttention, Signal, Wait, Delay> auto&) { return -1; });
}

bool is_matrix_kernel(const Work& work) { return facts(work).role == Role::matrix; }

/// Of one rank, and no data moves: it signals, waits or takes its time.
bool is_flag(const Work& work) {
  const Facts of_work = facts(work);
  return of_work.role == Role::synchronisation && !is_barrier(of_work);
}

bool is_gemm_by_library(const Work& work) {
  return match(
      work, [](const Gemm& gemm) { return !runs_own_kernel(gemm); },
      [](const OneOf<GroupedGemm, Collective, AllReduceNorm, GroupedExchange, Copy, MemoryBound, Attention,
                     PartialAttention, Signal, Wait, Barrier, Delay> auto&) { return false; });
}

}  // namespace

StreamOrder::StreamOrder(const Schedule& schedule, StreamTiming timing)
    : schedule_(schedule),
      timing_(std::move(timing)),
      shares_queue_(branches_share_queue(schedule)),
      is_peer_copy_(peer_copies(schedule)),
      on_stream_(schedule.streams.size()),
      edges_(schedule.operations.size()),
      root_offset_(edges_.size()),
      barrier_number_(edges_.size()) {
  by_library_.reserve(edges_.size());
  for (OperationId id = 0; id < operations(); ++id) {
    on_stream_[schedule.operations[id].stream].push_back(id);
    by_library_.push_back(facts(schedule.operations[id].work).by_library);
  }
  find_edges();
  schedule_.launch == Launch::graph ? set_graph_gaps() : set_eager_gaps();
  for (Edges& edges : edges_)
    for (StreamEdge& edge : edges) {
      edge.gap += told_after(edge);
      edge.is_told_from_an_sm =
          edge.point == Point::all_ctas_started && is_gemm_by_library(schedule.operations[edge.operation].work);
    }
  queued_behind_ = weft::queued_behind(schedule_, timing_.hardware_queues);
}

void StreamOrder::find_edges() {
  std::vector<OperationId> last_on_stream(schedule_.streams.size(), -1);
  std::map<int, int> barriers;
  for (OperationId id = 0; id < operations(); ++id) {
    const Operation& operation = schedule_.operations[id];
    const OperationId before = std::exchange(last_on_stream[operation.stream], id);
    if (before >= 0) edges_[id].push_back({before, Point::end, 0, {}, {}});
    for (const After& after : operation.after)
      if (after.operation != before || after.point != Point::end)
        edges_[id].push_back({after.operation, after.point, after.tile_group, {}, {}});
    if (const int channel = barrier_channel(operation.work); channel >= 0) barrier_number_[id] = barriers[channel]++;
  }
}

/// Between a group of tiles, or a start, and who follows it stands a kernel that waits for a counter, and where a
/// kernel does not count its CTAs itself another one that raises it.
Picoseconds StreamOrder::told_after(const StreamEdge& edge) const {
  const bool is_start = edge.point == Point::all_ctas_started || edge.point == Point::first_cta_started;
  if (edge.point != Point::tile_group && !is_start) return {};
  const bool is_told = is_start && !counts_its_ctas(schedule_.operations[edge.operation].work);
  return timing_.signal + (is_told ? timing_.signal_kernel : Picoseconds{});
}

Picoseconds StreamOrder::root_offset(OperationId id, int iteration, int iterations) const {
  if (timing_.starts_first == 0) return root_offset_[id];
  const bool wins_mostly = timing_.starts_first >= 0.5, is_last = iteration == iterations - 1;
  const bool is_won = is_last == wins_mostly;
  if (by_library_[id]) return is_won ? Picoseconds{} : timing_.fork_gap;
  return is_won ? root_offset_[id] : Picoseconds{};
}

/// With a lower number a stream is more urgent.
bool StreamOrder::is_more_urgent(OperationId id, OperationId other) const {
  const auto priority = [&](OperationId of) { return schedule_.streams[schedule_.operations[of].stream].priority; };
  return priority(id) < priority(other);
}

/// The library's collectives and copies between GPUs do so, and start later for it.
bool StreamOrder::brings_nodes(OperationId id) const { return by_library_[id] || is_peer_copy_[id]; }

/// Does it wait for several, one of which brings nodes of its own or continues the chain of one that does? Where all
/// are kernels among kernels the last one's end is seen as soon as it would be alone.
bool StreamOrder::joins_branches(OperationId id) const {
  const auto comes_after_nodes = [&](const StreamEdge& edge) {
    return brings_nodes(edge.operation) ||
           std::any_of(edges_[edge.operation].begin(), edges_[edge.operation].end(),
                       [&](const StreamEdge& before) { return brings_nodes(before.operation); });
  };
  return edges_[id].size() > 1 && std::any_of(edges_[id].begin(), edges_[id].end(), comes_after_nodes);
}

/// Of kernels of one stream.
Picoseconds StreamOrder::gap_between(OperationId before, OperationId id) const {
  const auto meets = [&](OperationId one) {
    const Facts of_work = facts(schedule_.operations[one].work);
    return !by_library_[one] && (of_work.is_collective || of_work.meetings > 0);
  };
  return meets(before) || meets(id) ? timing_.meeting_gap : timing_.kernel_gap;
}

/// To the start of one that does not continue the chain. Of two kernels on streams of one priority who continues it is
/// there just before, and takes the SMs first.
Picoseconds StreamOrder::gap_of_fork(OperationId before, OperationId id, OperationId chain) const {
  const bool is_behind = !is_more_urgent(id, chain);
  if (!brings_nodes(id))
    return std::max(gap_between(before, id), gap_between(before, chain)) + Picoseconds{is_behind ? 1 : 0};
  const bool goes_behind = by_library_[id] && is_behind && is_matrix_kernel(schedule_.operations[chain].work);
  return goes_behind ? timing_.behind_gemm_gap : timing_.fork_gap;
}

/// Whether a collective of the library begins the graph, perhaps beside others.
bool StreamOrder::begins_by_library() const {
  for (OperationId id = 0; id < operations(); ++id)
    if (by_library_[id] && edges_[id].empty()) return true;
  return false;
}

/// Does it continue the chain of `before`, and not `other`, which was created earlier?
bool StreamOrder::takes_chain(OperationId id, OperationId other, OperationId before) const {
  const auto keeps_queue = [&](OperationId next) { return shares_queue_ && by_library_[before] && by_library_[next]; };
  if (keeps_queue(id) || keeps_queue(other)) return keeps_queue(id) && !keeps_queue(other);
  return by_library_[other] && !by_library_[id];
}

/// The nodes that the library adds behind its kernel come first.
bool StreamOrder::is_behind_collective(OperationId id, const StreamEdge& edge) const {
  const auto stream = [&](OperationId one) { return schedule_.operations[one].stream; };
  return by_library_[edge.operation] && stream(edge.operation) == stream(id);
}

void StreamOrder::set_graph_gaps() {
  std::vector<OperationId> continues(edges_.size(), -1);  // the successor that continues each chain
  OperationId first_root = -1;
  const bool roots_wait = begins_by_library();  // the nodes that the library adds hold back all others
  for (OperationId id = 0; id < operations(); ++id) {
    if (edges_[id].empty() && first_root < 0) first_root = id;
    if (edges_[id].empty() && id != first_root)
      root_offset_[id] = roots_wait || brings_nodes(id) ? timing_.fork_gap : timing_.kernel_gap;
    for (const StreamEdge& edge : edges_[id])
      if (OperationId& chain = continues[edge.operation]; chain < 0 || takes_chain(id, chain, edge.operation))
        chain = id;
  }
  for (OperationId id = 0; id < operations(); ++id) {
    const bool is_join = joins_branches(id);
    for (StreamEdge& edge : edges_[id])
      edge.gap = is_join                           ? timing_.join_gap
                 : continues[edge.operation] != id ? gap_of_fork(edge.operation, id, continues[edge.operation])
                 : by_library_[id]                 ? timing_.collective_gap
                 : is_behind_collective(id, edge)  ? timing_.after_collective_gap
                                                   : gap_between(edge.operation, id);
  }
  set_copy_gaps();
}

/// A copy that another operation before has waited for is over, and noticed.
bool StreamOrder::is_noticed(const StreamEdge& copy, const Edges& edges) const {
  return std::ranges::any_of(edges, [&](const StreamEdge& other) {
    return std::ranges::any_of(edges_[other.operation],
                               [&](const StreamEdge& before) { return before.operation == copy.operation; });
  });
}

void StreamOrder::set_gaps_to_copy(OperationId copy, const CopyStreams& copies) {
  const bool joins = edges_[copy].size() > 1;
  for (StreamEdge& edge : edges_[copy]) {
    const Operation& before = schedule_.operations[edge.operation];
    if (is_peer_copy_[edge.operation]) {
      edge.gap = timing_.copy_gap + (joins ? timing_.copy_join_gap : Picoseconds{});
      continue;
    }
    const bool is_amid_kernels = before.stream == schedule_.operations[copy].stream || is_matrix_kernel(before.work);
    edge.gap = timing_.before_copy_gap;
    edge.spread = is_amid_kernels                       ? timing_.copy_gap_spread
                  : !copies.are_apart                   ? timing_.copy_fork_spread
                  : copies.begin_by_copy[before.stream] ? Picoseconds{}
                                                        : std::max(timing_.copy_fork_spread, timing_.copy_wait_spread);
  }
}

/// Recorded on four GPUs: a GEMM begins 2.0 to 2.4 us after a pull where it waits for others, too, any other kernel
/// after 5; and after another GEMM 2.0 us where it waits for the copies of all streams, 4.0 for those of one. Signals
/// of copies that are over follow each other as kernels do: gathers with up to twelve of them on four GPUs take as long
/// as their copies (hybrids-2026-11-28, flagged_random_h200_4gpu).
void StreamOrder::set_gaps_after_copies(OperationId id, const CopyStreams& copies) {
  Edges& edges = edges_[id];
  const auto is_looked_for = [&](const StreamEdge& edge) {
    return is_peer_copy_[edge.operation] && !is_noticed(edge, edges);
  };
  if (std::ranges::none_of(edges, is_looked_for)) return;
  const Operation& operation = schedule_.operations[id];
  const bool is_gemm = is_matrix_kernel(operation.work), tells = is_flag(operation.work);
  const bool looks_again = is_gemm && copies.are_apart && !copies.begin_by_copy[operation.stream];
  const Picoseconds gap = timing_.after_copy_gap + timing_.copy_stream_gap * (copies.with_peer_copies - 1) +
                          ((is_gemm || tells) && edges.size() > 1 ? Picoseconds{} : timing_.copy_ranks_gap);
  for (StreamEdge& edge : edges) {
    const Work& before = schedule_.operations[edge.operation].work;
    const bool is_join_of_gemms = is_gemm && edges.size() > 2 && is_matrix_kernel(before);
    if (tells && is_flag(before))
      edge.gap = timing_.kernel_gap;
    else if (!is_join_of_gemms)
      edge.gap = std::max(edge.gap, gap);
    if (looks_again && is_looked_for(edge)) edge.spread = timing_.copy_wait_spread;
  }
}

void StreamOrder::set_copy_gaps() {
  if (std::ranges::find(is_peer_copy_, true) == is_peer_copy_.end()) return;
  const CopyStreams copies = copy_streams(schedule_);
  for (OperationId id = 0; id < operations(); ++id)
    is_peer_copy_[id] ? set_gaps_to_copy(id, copies) : set_gaps_after_copies(id, copies);
}

/// Streams launched one call at a time: an event from another stream arrives later than the end of the own stream.
void StreamOrder::set_eager_gaps() {
  Picoseconds launched{};
  for (OperationId id = 0; id < operations(); ++id) {
    launched += timing_.host_launch;
    if (by_library_[id]) launched += timing_.host_collective;
    launched_.push_back(launched);
    // Every iteration forks from stream 0.
    if (edges_[id].empty() && schedule_.operations[id].stream != 0) root_offset_[id] = timing_.fork_gap;
    for (StreamEdge& edge : edges_[id]) {
      const Operation& before = schedule_.operations[edge.operation];
      const bool is_chain = before.stream == schedule_.operations[id].stream;
      edge.gap = is_chain ? timing_.kernel_gap : timing_.fork_gap;
      const bool is_race = timing_.event_spread > Picoseconds{} && !is_chain && by_library_[id] &&
                           edge.point == Point::end && is_matrix_kernel(before.work);
      if (!is_race) continue;
      edge.gap = timing_.early_fork_gap;
      edge.spread = timing_.event_spread;
      ranks_race_ = true;
    }
  }
}

}  // namespace weft::sim
