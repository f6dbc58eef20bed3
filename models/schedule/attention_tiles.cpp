#include "models/schedule/attention_tiles.hpp"

#include <algorithm>

#include "models/base/division.hpp"

namespace weft {
namespace {

constexpr double nearly_as_full = 0.85, enough_to_not_split = 0.8;

std::int64_t tiles_of(std::int64_t tokens, int heads_of_tile) {
  return divided_up(tokens, std::int64_t{2} * (own_rows_of_warpgroup / heads_of_tile));
}

std::int64_t cached_tiles(const Attention& attention) {
  return divided_up(earlier_tokens(attention) - attention.prefix, own_tile_keys);
}
/// That any tile of queries sees, so that each split has one.
std::int64_t fewest_key_tiles(const Attention& attention) {
  return cached_tiles(attention) + divided_up(attention.prefix + 1, own_tile_keys);
}

}  // namespace

AttentionTiles attention_tiles(const Attention& attention, std::int64_t tokens, std::int64_t sms) {
  const std::int64_t of_each = tokens / attention.sequences;
  const int sharing = attention.heads / attention.kv_heads;
  const bool is_packed =
      sharing > 1 && sharing <= own_rows_of_warpgroup && tiles_of(of_each, sharing) < sharing * tiles_of(of_each, 1);
  AttentionTiles tiles;
  tiles.heads_of_tile = is_packed ? sharing : 1;
  tiles.tokens_of_warpgroup = own_rows_of_warpgroup / tiles.heads_of_tile;
  tiles.of_sequence = tiles_of(of_each, tiles.heads_of_tile);
  tiles.groups_of_heads = attention.heads / tiles.heads_of_tile;
  tiles.count = tiles.of_sequence * tiles.groups_of_heads * attention.sequences;
  if (of_each <= tiles.tokens_of_warpgroup) tiles.working_warpgroups = 1;
  const bool may_split = attention.cached && attention.max_sms == 0;
  if (may_split && !fill_enough(tiles.count, sms))
    tiles.splits = splits_that_fill(tiles.count, sms, fewest_key_tiles(attention), most_own_splits);
  return tiles;
}

std::int64_t key_tiles(const Attention& attention, std::int64_t last_query) {
  return divided_up(attention.prefix + last_query, own_tile_keys) + cached_tiles(attention);
}

bool fill_enough(std::int64_t ctas, std::int64_t room) {
  return static_cast<double>(ctas) >= enough_to_not_split * static_cast<double>(room);
}

std::int64_t splits_that_fill(std::int64_t unsplit_ctas, std::int64_t room, std::int64_t key_blocks,
                              std::int64_t most) {
  most = std::min({most, room, key_blocks});
  const auto fullness = [&](std::int64_t splits) {
    if (splits > 1 && divided_up(key_blocks, splits) == divided_up(key_blocks, splits - 1)) return 0.0;
    const std::int64_t ctas = unsplit_ctas * splits;
    return static_cast<double>(ctas) / static_cast<double>(divided_up(ctas, room) * room);
  };
  double fullest = 0;
  for (std::int64_t splits = 1; splits <= most; ++splits) fullest = std::max(fullest, fullness(splits));
  std::int64_t splits = 1;
  while (fullness(splits) < nearly_as_full * fullest) ++splits;
  return splits;
}

}  // namespace weft
