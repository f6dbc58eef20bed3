// What an operation reads and writes: the one answer that validation, allocation, memory traffic, the race check and
// the numerical check share.
#pragma once

#include <cstdint>
#include <vector>

#include "models/schedule/schedule.hpp"

namespace weft {

/// Slices as the executing rank names them: `place` says whose memory, shard rows are those of the executing rank.
/// What is both read and written (an accumulating GEMM's c) stands in both lists.
struct Footprint {
  std::vector<Slice> reads, writes;
};

/// The whole operation, or with `tile_group` >= 0 that group of a GEMM with an explicit kernel: exactly the tiles that
/// it writes (a contiguous range of storage for a tile-ordered c), and of a and b the rows from the first to the last
/// one that the group needs. Where groups wait for what they add to (TileWait::for_addend) or for the ranks,
/// the part behind the last group stands for the operands that are there, which are read before. A part of shard rows,
/// or of rows that differ by rank, cannot be named as a slice: there a group counts as all of them. A collective reads
/// and writes the rank's own memory, whatever its transport.
Footprint footprint(const Schedule& schedule, const Operation& operation, int tile_group = -1);

/// A part of one rank's buffer, in storage order.
struct Rectangle {
  int rank = 0;
  BufferId buffer = 0;
  std::int64_t first_row = 0, rows = 0;
  std::int64_t first_column = 0, columns = 0;
  bool operator==(const Rectangle&) const = default;
};
/// What `slice` means to the executing rank `rank`.
Rectangle rectangle_of(const Slice& slice, int rank, int gpus);
bool overlap(const Rectangle& a, const Rectangle& b);

/// Tile groups of a GEMM: `tile_groups`, or one for all tiles.
int tile_group_count(const Gemm& gemm);

}  // namespace weft
