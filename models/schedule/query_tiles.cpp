#include "models/schedule/query_tiles.hpp"

#include <algorithm>
#include <functional>
#include <set>

#include "models/base/division.hpp"

namespace weft {
namespace {

std::int64_t end_of(const AttentionPart& part) { return part.first_query + part.queries; }

/// Where the parts that a query belongs to may change; the first and the last + 1 query too.
std::set<std::int64_t> borders(const std::vector<AttentionPart>& parts, std::int64_t queries) {
  std::set<std::int64_t> all{0, queries};
  for (const AttentionPart& part : parts) all.insert({part.first_query, end_of(part)});
  return all;
}

/// Of a part's keys, those that any query before `end` sees.
std::int64_t seen_keys(const AttentionPart& part, std::int64_t end) {
  return part.mask == AttentionMask::full ? part.keys : end - part.first_query;
}

/// Its queries lie between two borders.
QueryTile tile_of(const std::vector<AttentionPart>& parts, std::int64_t first, std::int64_t end, int tile_keys) {
  QueryTile tile{.first_query = static_cast<std::int32_t>(first), .queries = static_cast<std::int32_t>(end - first)};
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (parts[i].first_query <= first && end <= end_of(parts[i])) {
      tile.parts |= std::uint32_t{1} << i;
      tile.key_tiles += static_cast<std::int32_t>(divided_up(seen_keys(parts[i], end), tile_keys));
    }
  return tile;
}

template <class Visit>
void for_each_tile(const std::vector<AttentionPart>& parts, std::int64_t queries, int tile_queries, int tile_keys,
                   const Visit& visit) {
  const std::set<std::int64_t> all = borders(parts, queries);
  for (auto border = all.begin(); std::next(border) != all.end(); ++border)
    for (std::int64_t first = *border, end = *std::next(border); first < end; first += tile_queries)
      visit(tile_of(parts, first, std::min(first + tile_queries, end), tile_keys));
}

}  // namespace

std::vector<QueryTile> query_tiles(const std::vector<AttentionPart>& parts, std::int64_t queries, int tile_queries,
                                   int tile_keys) {
  std::vector<QueryTile> tiles;
  for_each_tile(parts, queries, tile_queries, tile_keys, [&](const QueryTile& tile) { tiles.push_back(tile); });
  std::ranges::stable_sort(tiles, std::greater{}, &QueryTile::key_tiles);
  return tiles;
}

QueryTileSums sum_of_query_tiles(const std::vector<AttentionPart>& parts, std::int64_t queries, int tile_queries,
                                 int tile_keys) {
  QueryTileSums sums;
  for_each_tile(parts, queries, tile_queries, tile_keys, [&](const QueryTile& tile) {
    const std::int64_t seen = tile.key_tiles;
    if (seen == 0) return;
    sums.fewest = sums.tiles == 0 ? seen : std::min(sums.fewest, seen);
    sums.most = std::max(sums.most, seen);
    ++sums.tiles;
    sums.key_tiles += seen;
  });
  return sums;
}

}  // namespace weft
