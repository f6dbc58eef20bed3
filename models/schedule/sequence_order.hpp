// Which tokens of a sequence a rank of distributed attention holds.
#pragma once

#include <cstdint>

#include "models/schedule/schedule.hpp"

namespace weft {

/// Position in the sequence of row `row` of rank `rank`'s shard, whose `tokens` / `gpus` rows AttentionShape describes.
constexpr std::int64_t token_of_row(AttentionMask mask, std::int64_t tokens, int gpus, int rank, std::int64_t row) {
  const std::int64_t rows = tokens / gpus;
  if (mask == AttentionMask::full) return rank * rows + row;
  const std::int64_t chunk_rows = rows / 2;
  const std::int64_t chunk = row < chunk_rows ? rank : 2 * gpus - 1 - rank;
  return chunk * chunk_rows + row % chunk_rows;
}

/// What the rows of a shard are a multiple of: a causal sequence is cut into two chunks a rank.
inline int token_unit(AttentionMask mask, int gpus) { return mask == AttentionMask::causal ? 2 * gpus : gpus; }

}  // namespace weft
