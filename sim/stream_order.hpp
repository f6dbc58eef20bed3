// What each operation of a schedule follows, and how long after: found once for all ranks, iterations and runs.
#pragma once

#include <boost/container/small_vector.hpp>
#include <vector>

#include "models/schedule/schedule.hpp"
#include "sim/copy_order.hpp"
#include "sim/frame_store.hpp"

namespace weft::sim {

/// Fixed times between operations. In a CUDA graph one successor of a node continues its chain, the first-created that
/// is no collective of the library. Other kernels start as soon as it does, but what brings nodes of its own starts
/// later by `fork_gap`: the library's collectives and, where they begin a graph beside others, copies. That is before a
/// GEMM on the chain whose tile counter is filled first, but only a collective on a more urgent stream takes SMs then:
/// another one goes behind the GEMM. Where branches share a queue, a collective that follows another one of the library
/// continues its chain, and who waits for that one, too, comes after it.
struct StreamTiming {
  Picoseconds kernel_gap;            ///< end of an operation to the start of one that waits for it alone
  Picoseconds meeting_gap;           ///< the same where ranks meet in one of the two by a kernel of ours
  Picoseconds collective_gap;        ///< the same where that one is a collective of the library
  Picoseconds after_collective_gap;  ///< end of such a collective to the start of a kernel behind it on its stream
  Picoseconds join_gap;  ///< last end to the start of an operation that waits for several, as joins_branches() says
  Picoseconds fork_gap;  ///< end to the start of a collective of the library that does not continue the chain
  Picoseconds behind_gemm_gap;        ///< the same for a collective that is no more urgent than a GEMM on the chain
  Picoseconds before_copy_gap;        ///< end of a kernel to the start of a copy from or to a peer
  Picoseconds after_copy_gap;         ///< end of such a copy to the start of a kernel
  Picoseconds copy_ranks_gap;         ///< after_copy_gap is longer by so much but for GEMMs that wait for others, too
  Picoseconds copy_gap_spread;        ///< before_copy_gap is up to so much longer on one stream
  Picoseconds copy_fork_spread;       ///< and up to so much from one stream to another
  Picoseconds copy_wait_spread;       ///< where several are on one stream apart: of the first and of GEMMs behind them
  Picoseconds copy_gap;               ///< end of such a copy to the start of another
  Picoseconds copy_join_gap;          ///< copy_gap is longer by so much where that one waits for others, too
  Picoseconds copy_stream_gap;        ///< after_copy_gap is longer for each stream with such copies but the first
  Picoseconds iteration_gap;          ///< end of an iteration to the start of the next
  Picoseconds early_fork_gap;         ///< eager: the same for a collective of the library behind a GEMM, at least
  Picoseconds event_spread;           ///< and up to so much more, by chance on each rank
  Picoseconds host_launch;            ///< eager: host time of one operation
  Picoseconds host_collective;        ///< eager: host time of a collective of the library besides
  Picoseconds barrier;                ///< last arrival to the first departure
  Picoseconds barrier_skew;           ///< first to last departure
  Picoseconds barrier_beside_gemm;    ///< later by so much where a GEMM runs beside it
  Picoseconds barrier_beside_copies;  ///< where every rank has a copy from or to a peer on its way
  Picoseconds signal_kernel;          ///< start of a kernel that signals until it has written the counter
  Picoseconds wait_kernel;            ///< start of a kernel that waits until it reads the counter
  Picoseconds signal;                 ///< counter written until who waits for it goes on
  int hardware_queues = 0;            ///< eager: streams beyond that share one; 0: each has its own
  double starts_first = 0;  ///< share of iterations in which a collective at the beginning of a graph starts before the
                            ///< other operations there; 0: nothing races
  std::vector<Picoseconds> start_skew;  ///< by rank; empty: all start together
};

/// Something that an operation waits for.
struct StreamEdge {
  OperationId operation = 0;
  Point point = Point::end;
  int tile_group = 0;
  Picoseconds gap;
  Picoseconds spread;               ///< the gap is longer by a part of it, each time another
  bool is_told_from_an_sm = false;  ///< by a kernel that needs room beside the library's GEMM whose start it tells
};

class StreamOrder {
 public:
  using Edges = boost::container::small_vector<StreamEdge, 2>;
  using StreamOperations = boost::container::small_vector<OperationId, 8>;

  /// Refers to the schedule.
  StreamOrder(const Schedule& schedule, StreamTiming timing);

  const Schedule& schedule() const { return schedule_; }
  const StreamTiming& timing() const { return timing_; }
  OperationId operations() const { return static_cast<OperationId>(edges_.size()); }
  /// Whether a collective may start before or after another operation that waits for the same one, by chance on each
  /// rank: then no two ranks are alike, nor two iterations.
  bool ranks_race() const { return ranks_race_; }
  /// Of a stream, in its order.
  const StreamOperations& on_stream(StreamId stream) const { return on_stream_[stream]; }
  const Edges& edges(OperationId id) const { return edges_[id]; }
  /// From the beginning of an iteration to the first moment at which the operation may begin. Where a collective races
  /// with other roots, the last iteration has the usual outcome and the ones before it the other.
  Picoseconds root_offset(OperationId id, int iteration, int iterations) const;
  /// The operation of another stream before it in its hardware queue, or -1.
  OperationId queued_behind(OperationId id) const { return queued_behind_[id]; }
  /// When the host, which launches one operation after the other, has launched it; graphs: at once.
  Picoseconds launched(OperationId id, int iteration) const {
    return launched_.empty() ? Picoseconds{} : launched_.back() * iteration + launched_[static_cast<std::size_t>(id)];
  }
  /// Barriers of its channel that came before.
  int barrier_number(OperationId id) const { return barrier_number_[id]; }

 private:
  void find_edges();
  Picoseconds told_after(const StreamEdge& edge) const;
  bool is_behind_collective(OperationId id, const StreamEdge& edge) const;
  bool takes_chain(OperationId id, OperationId other, OperationId before) const;
  void set_graph_gaps();
  bool brings_nodes(OperationId id) const;
  Picoseconds gap_between(OperationId before, OperationId id) const;
  bool joins_branches(OperationId id) const;
  bool is_more_urgent(OperationId id, OperationId other) const;
  Picoseconds gap_of_fork(OperationId before, OperationId id, OperationId chain) const;
  bool begins_by_library() const;
  bool is_noticed(const StreamEdge& copy, const Edges& edges) const;
  void set_gaps_to_copy(OperationId copy, const CopyStreams& copies);
  void set_gaps_after_copies(OperationId id, const CopyStreams& copies);
  void set_copy_gaps();
  void set_eager_gaps();

  const Schedule& schedule_;
  const StreamTiming timing_;
  const bool shares_queue_;                      // branches of the graph do
  std::vector<bool> by_library_, is_peer_copy_;  // by operation
  bool ranks_race_ = false;
  FrameVector<Picoseconds> launched_;  // by operation, in the first iteration; empty: graphs
  FrameVector<StreamOperations> on_stream_;
  FrameVector<Edges> edges_;
  FrameVector<Picoseconds> root_offset_;
  std::vector<OperationId> queued_behind_;
  FrameVector<int> barrier_number_;
};

}  // namespace weft::sim
