// A hybrid's choice of pieces: how its work is cut, and which rows and columns belong to a piece.
//
// Chunks and columns have a part of every rank's shard, a parcel for each peer; a piece of shards has that of one rank.
// Rows of chunks are owned block-cyclically, as in a decomposition; those of shards and columns are not.
#pragma once

#include <string>
#include <vector>

#include "scenarios/families/program.hpp"

namespace weft::scenarios::families {

/// What the rows must be a multiple of: each rank has as many of every piece, and a tile group whole tiles.
std::int64_t unit_of_rows(const Hybrid& hybrid, int gpus);
/// Of what that is a multiple, in words: "gpus x count".
std::string words_of_unit(const Hybrid& hybrid, int gpus);

class HybridCut {
 public:
  /// Of a pair with `rows` rows on each GPU, whose buffers `program` has when slices of them are asked for.
  HybridCut(const Program& program, const Hybrid& hybrid, int gpus, std::int64_t rows, bool gemm_first)
      : program_(program),
        pieces_(hybrid.pieces),
        count_(hybrid.count),
        gpus_(gpus),
        rows_(rows),
        gemm_first_(gemm_first) {}

  bool by_shard() const { return pieces_ == HybridPieces::shards; }
  bool by_column() const { return pieces_ == HybridPieces::columns; }
  int pieces() const { return by_shard() ? gpus_ * count_ : count_; }
  int chunk_of(int piece) const { return by_shard() ? piece % count_ : piece; }
  /// Of a piece of shards: 0 is the own one, which needs no transfer and so is the first to be read and the last to be
  /// written.
  int step_of(int piece) const { return gemm_first_ ? (piece / count_ + 1) % gpus_ : piece / count_; }
  /// The steps, each with one peer, in which a piece's parcels travel.
  std::vector<int> steps_of(int piece) const;

  /// The chunk's rows that belong to rank + `peer`, of a buffer with all rows.
  Slice part(BufferId buffer, int peer, int chunk) const;
  /// The chunk's rows of the block in which the partial sums of rank + `peer` lie.
  Slice slot(BufferId partials, int peer, int chunk) const;
  /// The chunk's rows of a buffer that has only the own ones.
  Slice own_part(BufferId buffer, int chunk) const;
  /// All rows of a chunk.
  Slice whole(BufferId buffer, int chunk) const;

 private:
  int row_count() const { return by_column() ? 1 : count_; }
  Slice columns(Slice slice, int chunk) const;

  const Program& program_;
  HybridPieces pieces_;
  int count_, gpus_;
  std::int64_t rows_;
  bool gemm_first_;
};

}  // namespace weft::scenarios::families
