// How a kernel of partial attention cuts its queries: into tiles whose queries see the same parts of the mask.
#pragma once

#include <cstdint>
#include <vector>

#include "models/schedule/schedule.hpp"

namespace weft {

/// Queries [first_query, first_query + queries) of those parts whose bits are set; `key_tiles` tiles of keys hold what
/// any of them sees, part after part, each part's tiles counted from its first key on.
struct QueryTile {
  std::int32_t first_query = 0, queries = 0;
  std::uint32_t parts = 0;
  std::int32_t key_tiles = 0;
  bool operator==(const QueryTile&) const = default;
};

/// Every one of `queries` in one tile, of at most `tile_queries`, those with the most tiles of keys first. Queries that
/// no part has are in tiles without keys. At most 32 parts.
std::vector<QueryTile> query_tiles(const std::vector<AttentionPart>& parts, std::int64_t queries, int tile_queries,
                                   int tile_keys);

/// Those tiles that see any keys, together, and how many tiles of keys the one with fewest and the one with most sees.
/// The others take next to no time, and would let what is shared out look as if it could be cut at will.
struct QueryTileSums {
  std::int64_t tiles = 0, key_tiles = 0, fewest = 0, most = 0;
};
QueryTileSums sum_of_query_tiles(const std::vector<AttentionPart>& parts, std::int64_t queries, int tile_queries,
                                 int tile_keys);

}  // namespace weft
