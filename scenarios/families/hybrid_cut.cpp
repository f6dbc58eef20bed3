#include "scenarios/families/hybrid_cut.hpp"

#include <numeric>

#include "scenarios/families/wave_groups.hpp"

namespace weft::scenarios::families {

std::int64_t unit_of_rows(const Hybrid& hybrid, int gpus) {
  if (hybrid.pieces == HybridPieces::columns) return gpus;
  const bool by_tiles = hybrid.trigger == HybridTrigger::tile_group || hybrid.trigger == HybridTrigger::one_launch;
  if (hybrid.pieces == HybridPieces::shards && (hybrid.mover == HybridMover::store || by_tiles))
    return std::int64_t{hybrid.count} * gpus * tile_extent;
  if (hybrid.trigger == HybridTrigger::tile_group) return std::int64_t{hybrid.count} * std::lcm(gpus, tile_extent);
  return std::int64_t{hybrid.count} * gpus;
}

std::string words_of_unit(const Hybrid& hybrid, int gpus) {
  if (hybrid.pieces == HybridPieces::columns) return "gpus";
  const std::int64_t pieces = std::int64_t{hybrid.count} * gpus, unit = unit_of_rows(hybrid, gpus);
  return unit == pieces ? "gpus x count" : "gpus x count and of tiles of " + std::to_string(tile_extent) + " rows";
}

std::vector<int> HybridCut::steps_of(int piece) const {
  if (by_shard()) return step_of(piece) == 0 ? std::vector<int>{} : std::vector{step_of(piece)};
  std::vector<int> steps(static_cast<std::size_t>(gpus_ - 1));
  std::iota(steps.begin(), steps.end(), 1);
  return steps;
}

Slice HybridCut::part(BufferId buffer, int peer, int chunk) const {
  Slice slice = by_shard() ? program_.shard(buffer, peer, chunk, count_) : program_.shard(buffer, peer);
  if (pieces_ == HybridPieces::chunks)
    slice.rows = ShardRows{.rank_offset = peer, .first = chunk * (rows_ / count_), .of_rows = rows_ / count_};
  return columns(slice, chunk);
}

Slice HybridCut::slot(BufferId partials, int peer, int chunk) const {
  return columns(by_column() ? program_.shard(partials, peer) : program_.shard(partials, peer, chunk, count_), chunk);
}

Slice HybridCut::own_part(BufferId buffer, int chunk) const {
  const std::int64_t rows = rows_ / gpus_ / row_count();
  return columns(program_.rows(buffer, by_column() ? 0 : chunk * rows, rows), chunk);
}

Slice HybridCut::whole(BufferId buffer, int chunk) const {
  const std::int64_t rows = program_.buffer(buffer).rows / row_count();
  return columns(program_.rows(buffer, by_column() ? 0 : chunk * rows, rows), chunk);
}

Slice HybridCut::columns(Slice slice, int chunk) const {
  if (!by_column()) return slice;
  slice.columns /= count_;
  slice.first_column = chunk * slice.columns;
  return slice;
}

}  // namespace weft::scenarios::families
