#include "models/schedule/attention_tiles.hpp"

#include <algorithm>
#include <limits>

#include "models/base/division.hpp"

namespace weft {
namespace {

/// In the time of a tile of keys whose heads have 64 elements, some 0.8 us: what a tile of queries takes besides its
/// keys, and what a merge takes, once, for each split and for each element of its results. Chosen by 1,128 attentions
/// on an H200, each with eight numbers of splits (random-kernels-2026-11-29/splits_h200): the chosen number is 0.4 %
/// behind the fastest of the eight.
constexpr double start_tiles = 4, merge_tiles = 2, split_tiles = 0.5, tiles_of_element = 1e-6;

/// Of longer heads a tile takes half again as long for each 64 elements more.
double tile_time(int head_dim) { return (64.0 + head_dim) / 128; }

std::int64_t tiles_of(std::int64_t tokens, int heads_of_tile) {
  return divided_up(tokens, std::int64_t{2} * (own_rows_of_warpgroup / heads_of_tile));
}

std::int64_t cached_tiles(const Attention& attention) { return divided_up(cached_keys(attention), own_tile_keys); }
/// That any tile of queries sees, so that each split has one.
std::int64_t fewest_key_tiles(const Attention& attention) {
  return cached_tiles(attention) + divided_up(attention.prefix + 1, own_tile_keys);
}

/// Of each tile's keys the splits with which all takes least, the fewest of equal ones. CTAs take those with most keys
/// first, and where they have unequal numbers of tiles some end a short one later.
std::int64_t fastest_splits(const Attention& attention, const AttentionTiles& tiles, std::int64_t tokens,
                            std::int64_t sms) {
  const std::int64_t of_each = tokens / attention.sequences;
  const auto keys_of = [&](std::int64_t tile) {
    return key_tiles(attention, std::min(of_each, tile * tiles.tokens_of_tile()));
  };
  std::int64_t of_group = 0;
  for (std::int64_t tile = 1; tile <= tiles.of_sequence; ++tile) of_group += keys_of(tile);
  const std::int64_t shortest = keys_of(1), longest = keys_of(tiles.of_sequence);
  const double mean = static_cast<double>(of_group) / static_cast<double>(tiles.of_sequence);
  const double tile = tile_time(attention.head_dim);
  const double elements = static_cast<double>(tokens * attention.heads * attention.head_dim);
  const auto cost = [&](std::int64_t splits) {
    const auto count = static_cast<double>(splits);
    const std::int64_t ctas = tiles.count * splits, waves = divided_up(ctas, sms);
    const double longest_cta = start_tiles + static_cast<double>(divided_up(longest, splits)) * tile;
    const double merge = splits == 1 ? 0
                                     : merge_tiles + static_cast<double>(merged_in_turn(splits)) * split_tiles +
                                           count * elements * tiles_of_element;
    if (shortest == longest) return static_cast<double>(waves) * longest_cta + merge;
    const double of_cta = static_cast<double>(ctas) / static_cast<double>(sms);
    const double short_cta = start_tiles + static_cast<double>(shortest / splits) * tile;
    const double shared =
        of_cta * (start_tiles + mean / count * tile) + (static_cast<double>(waves) - of_cta) * short_cta;
    return std::max(longest_cta, waves == 1 ? 0 : shared) + merge;
  };
  std::int64_t fastest = 1;
  const std::int64_t most = std::min({most_own_splits, sms, fewest_key_tiles(attention)});
  for (std::int64_t splits = 2; splits <= most; ++splits)
    if (cost(splits) < cost(fastest)) fastest = splits;
  return fastest;
}

/// In one split each.
AttentionTiles query_tiles(const Attention& attention, std::int64_t tokens) {
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
  return tiles;
}

constexpr std::int64_t least_tiles_of_piece = 2;  // with one it would take longer to merge than to work
/// In the time of a tile of keys from memory, heads of 128: what pieces of two items cost a CTA; and what memory is
/// read more slowly by for each share of the CTAs that is left out, the first few of which nobody misses. On an H200
/// four sequences with two heads of 32,768 keys take 44 us by 132 CTAs and 38 us by 128, and 24 with four heads of
/// 8,192 keys 103 us by 132, 107 us by 120 and 111 us by 100.
constexpr double remainder_tiles = 2, slower_of_fewer = 0.3, not_missed = 0.04;
constexpr std::int64_t most_of_int = std::numeric_limits<int>::max();
constexpr double enough_ctas = 0.65;  // of those that there could be

/// Up to `most`: as many as have equal pieces of items or whole ones, if that gains more than their fewer number costs.
int fastest_ctas(const EvenShares& shares, int head_dim, int most) {
  int even = most;
  while (even > 1 && shares.items % even != 0 && even % shares.items != 0) --even;
  const double left_out = 1 - static_cast<double>(even) / most;
  const double of_cta = static_cast<double>(shares.tiles()) / most * head_dim / 128;
  const double slower_tiles = slower_of_fewer * (left_out - not_missed) * of_cta;
  return left_out > 1 - enough_ctas || slower_tiles > remainder_tiles ? most : even;
}

}  // namespace

AttentionTiles attention_tiles(const Attention& attention, std::int64_t tokens, std::int64_t sms) {
  AttentionTiles tiles = query_tiles(attention, tokens);
  if (attention.cached && attention.max_sms == 0) tiles.splits = fastest_splits(attention, tiles, tokens, sms);
  return tiles;
}

std::int64_t cached_keys(const Attention& attention) { return earlier_tokens(attention) - attention.prefix; }

bool reads_keys_once(const Attention& attention, std::int64_t tokens) {
  return query_tiles(attention, tokens).count == std::int64_t{attention.sequences} * attention.kv_heads;
}

std::int64_t key_tiles(const Attention& attention, std::int64_t last_query) {
  return divided_up(attention.prefix + last_query, own_tile_keys) + cached_tiles(attention);
}

std::int64_t queries_of_item(const Attention& attention, std::int64_t tokens) {
  return tokens / attention.sequences * (attention.heads / attention.kv_heads);
}

std::optional<EvenShares> even_shares(const Attention& attention, std::int64_t tokens, std::int64_t sms) {
  if (!attention.cached || queries_of_item(attention, tokens) > most_decode_rows ||
      attention.prefix + tokens / attention.sequences > most_own_keys)
    return std::nullopt;
  const std::int64_t items = std::int64_t{attention.sequences} * attention.kv_heads, tiles = cached_tiles(attention);
  const std::int64_t ctas = attention.max_sms > 0 ? std::min<std::int64_t>(attention.max_sms, sms) : sms;
  if (items * tiles > most_of_int / ctas) return std::nullopt;
  EvenShares shares{.items = static_cast<int>(items), .tiles_of_item = static_cast<int>(tiles)};
  const std::int64_t pieces = items * std::max<std::int64_t>(tiles / least_tiles_of_piece, 1);
  shares.ctas = fastest_ctas(shares, attention.head_dim, static_cast<int>(std::min(pieces, ctas)));
  return shares;
}

}  // namespace weft
