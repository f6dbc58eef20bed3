// A hybrid's choice of a mover: who moves the bytes of a piece, and how the receiver knows that they are there.
//
//   nccl         one collective for each piece
//   pull         copy engines read a parcel from each peer; a peer's results are ready after a barrier of all ranks,
//                inputs always
//   push         copy engines write a parcel to each peer, and raise a flag there (X+gemm) or are known to have arrived
//                at the last barrier (gemm+X)
//   peer_kernel  as pull, by copies on SMs
//   store        gemm+X: the GEMM stores its tiles on the peers, which know that they are there from a counter or from
//                the last barrier; nothing else is sent
//   fetch        X+gemm: the GEMM fetches its rows, always in one launch (one_launch.hpp)
//
// What is reduced without NCCL is added up by a kernel, at the end, or piece by piece, on a stream of its own or behind
// the last GEMM (late sums); an all-reduce then sends the sums in the same way, unless every rank has got all partial
// sums. Sums that the GEMMs make are another program (hybrid_rotation.hpp).
#pragma once

#include <string>
#include <vector>

#include "scenarios/families/hybrid_cut.hpp"
#include "scenarios/families/program.hpp"
#include "scenarios/families/wave_groups.hpp"

namespace weft::scenarios::families {

inline bool sends_parcels(const Hybrid& hybrid) { return hybrid.mover != HybridMover::nccl; }
inline bool pushes(const Hybrid& hybrid) { return hybrid.mover == HybridMover::push; }
inline bool stores(const Hybrid& hybrid) { return hybrid.mover == HybridMover::store; }
inline bool is_one_launch(const Hybrid& hybrid) { return hybrid.trigger == HybridTrigger::one_launch; }
/// One GEMM waits for the flags of its rows (flagged_shards.hpp).
inline bool is_flagged_in_shards(const Hybrid& hybrid, PairOp op) {
  return hybrid.trigger == HybridTrigger::tile_group && hybrid.pieces == HybridPieces::shards &&
         hybrid.mover == HybridMover::pull && collective_comes_first(op);
}
inline bool reduces(PairOp op) { return op == PairOp::gemm_all_reduce || op == PairOp::gemm_reduce_scatter; }
inline bool sums_in_gemm(const Hybrid& hybrid) { return hybrid.sums == HybridSums::in_gemm; }
/// By kernels, as they come.
inline bool sums_pieces(const Hybrid& hybrid) {
  return hybrid.sums == HybridSums::by_piece || hybrid.sums == HybridSums::everywhere;
}
inline bool uses_sms(const Hybrid& hybrid) {
  return hybrid.mover == HybridMover::nccl || hybrid.mover == HybridMover::peer_kernel;
}
inline CopyPath path_of(const Hybrid& hybrid) { return uses_sms(hybrid) ? CopyPath::sms : CopyPath::copy_engine; }

/// The same on rank + `place`.
inline Slice at(Slice slice, int place) {
  slice.place = place;
  return slice;
}

/// How the tiles of a GEMM that signals are scheduled: a limit of SMs, and copies that need none, are for CTAs that
/// stay.
inline SignalingTiles tiles_of(const Hybrid& hybrid, const Machine& machine) {
  const bool stays = hybrid.gemm_sms > 0 || !uses_sms(hybrid);
  return stays ? tile_schedulers(machine).back() : tile_schedulers(machine).front();
}

/// a[m, k] x b[n, k]^T = c[m, n]. `input` is what the ranks hold before all_gather+gemm and all_to_all+gemm, `result`
/// what they hold after a gemm+X, `partials` what a gemm+X without NCCL adds up. `stored` has a buffer for each peer,
/// where all of c of rank - 1, rank - 2, … is stored.
struct HybridBuffers {
  BufferId a = 0, b = 0, c = 0, input = 0, result = 0, partials = 0;
  std::vector<BufferId> stored = {};
};
HybridBuffers add_buffers(Program& program, const PairWorkload& pair, const Hybrid& hybrid, int gpus,
                          std::int64_t rows);

class HybridTransfers {
 public:
  /// Adds a stream for the transfers, or one for each peer.
  HybridTransfers(Program& program, const Case& request, const PairWorkload& pair, const HybridCut& cut,
                  const HybridBuffers& buffers);

  /// Of one piece: the first transfer on each lane, and the last.
  struct Sent {
    std::vector<OperationId> first, last;
  };

  /// Copies begin when all ranks have come.
  void enter();
  Sent add(int piece);
  /// The next transfers wait for that point.
  void wait(const After& after);
  /// The piece is computed here, and so that peers may pull it, on all ranks.
  void add_computed(int piece);
  /// What the main stream launches next waits until the piece has arrived.
  void wait_for_arrival(int piece, const Sent& sent);
  /// Rows that stay on this GPU, and that a kernel can neither read nor write at their place.
  void copy_own(int piece);
  /// After the last transfer: all ranks are done with each other's memory, and sums are added up.
  void leave();

  /// The GEMM stores what it computes on all peers, and says which groups of tiles they have got.
  void let_store(Gemm& gemm, int groups);

  /// For tiles that look for the rows of a piece: the counter and how far it counts.
  CounterId flag_of(int piece);
  std::int64_t signals_of(int piece) const;
  bool is_copied_word(int piece) const;
  /// Input rows of this rank that rank + `peer` multiplies.
  Slice input_for(int peer, int chunk) const;
  /// Where what rank + `peer` computed for this one goes.
  Slice landing(int peer, int chunk) const;
  /// The same on the peer of a step: where a GEMM stores what it computes for it.
  Slice landing_on_peer(int step, int chunk) const;
  /// Whose shard the parcel of a step belongs to here: that of the peer that it is pulled from or pushed by.
  int sender(int step) const { return pushes(hybrid_) || gemm_first_ ? -step : step; }

 private:
  Sent add_collective(int piece);
  Sent add_parcels(int piece);
  Copy parcel(int step, int chunk) const;
  Copy sum_parcel(int step, int chunk) const;
  void raise(int piece, StreamId stream, int place);
  bool sends_sums() const {
    return op_ == PairOp::gemm_all_reduce && hybrid_.sums != HybridSums::everywhere && sends_parcels(hybrid_);
  }
  Slice own_sums(int chunk) const;
  void add_sum(int chunk, Slice own, Slice sums, StreamId stream);
  void add_sum_of_piece(int chunk, StreamId stream);
  void sum_piece(int piece, const Sent& sent);
  void sum_late();
  void sum_at_end();
  void join_lanes();
  StreamId lane_of(int step) const { return lanes_[static_cast<std::size_t>(step - 1) % lanes_.size()]; }
  /// Tiles of one GEMM look for the rows of a piece.
  bool flags_rows() const { return hybrid_.trigger == HybridTrigger::tile_group && !gemm_first_; }

  Program& program_;
  PairOp op_;
  Hybrid hybrid_;
  int max_ctas_, gpus_;
  const HybridCut& cut_;
  HybridBuffers buffers_;
  bool gemm_first_, reduces_;
  std::vector<StreamId> lanes_;
  StreamId sums_ = main_stream;  ///< of the sums of pieces
  struct Arrived {
    int chunk;
    std::vector<OperationId> after;
  };
  std::vector<Arrived> unsummed_;  ///< pieces whose sums come after the last GEMM
  std::vector<CounterId> flags_;
  int signals_ = 0;
};

}  // namespace weft::scenarios::families
