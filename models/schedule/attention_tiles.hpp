// How our attention kernel cuts the queries of a layer into tiles, and the keys of a tile among CTAs: read by the
// kernel and by what prices it.
#pragma once

#include <cstdint>
#include <optional>

#include "models/base/division.hpp"
#include "models/schedule/schedule.hpp"

namespace weft {

inline constexpr std::int64_t own_tile_queries = 128, own_tile_keys = 128;
inline constexpr int own_rows_of_warpgroup = 64;        ///< two of them work on a tile of queries
inline constexpr std::int64_t most_of_one_thread = 16;  ///< results of splits that one thread merges
inline constexpr std::int64_t most_own_splits = 128;    ///< more than one thread merges are shared by
inline constexpr int sharing_threads = 16;              ///< so many, which merge an octet together

/// In the time of so many results that one thread merges one after the other: where threads share them, each has its
/// share, and putting the shares together takes as long as four (recorded on an H200, many-splits-2026-11-30).
constexpr std::int64_t merged_in_turn(std::int64_t splits) {
  constexpr std::int64_t of_shares = 4;
  return splits <= most_of_one_thread ? splits : divided_up(splits, sharing_threads) + of_shares;
}

struct AttentionTiles {
  int heads_of_tile = 1;  ///< whose queries lie in one tile; they share keys
  int tokens_of_warpgroup = own_rows_of_warpgroup;
  std::int64_t of_sequence = 0;  ///< of each group of heads
  std::int64_t groups_of_heads = 0;
  std::int64_t count = 0;      ///< of all sequences and groups
  int working_warpgroups = 2;  ///< of a CTA: 1 where no tile has a query for the other one
  std::int64_t splits = 1;     ///< of each tile's keys, each for a CTA of its own; a second kernel merges them

  std::int64_t tokens_of_tile() const { return 2 * std::int64_t{tokens_of_warpgroup}; }
};

/// Of `tokens` queries of all sequences together. The heads that share keys lie in one tile where that makes fewer: few
/// tokens leave most of a tile empty, and the keys would be read for each head. Cached keys are split where that saves
/// more than merging costs: tiles alone would leave SMs without work, or a last wave nearly empty. Not those of CTAs
/// that stay (max_sms).
AttentionTiles attention_tiles(const Attention& attention, std::int64_t tokens, std::int64_t sms);

/// Of each sequence.
std::int64_t cached_keys(const Attention& attention);

/// Whether each cached key is read by one tile of queries alone.
bool reads_keys_once(const Attention& attention, std::int64_t tokens);

/// Tiles of keys that a sequence's queries up to `last_query`, counted from 1, see: of the rows before and up to it,
/// and of cached keys.
std::int64_t key_tiles(const Attention& attention, std::int64_t last_query);

// --- Few queries -----------------------------------------------------------------------------------------------------

inline constexpr int most_decode_rows = 16;  ///< of queries that see the same keys: tokens x heads
inline constexpr int most_own_keys = 16;     ///< that these see besides cached ones, of their sequence's rows
inline constexpr int keys_of_box = 16;       ///< of a warp: as many, or several times as many, are loaded at once
inline constexpr int queries_of_mma = 8;     ///< that the tensor cores multiply with at once
inline constexpr int pieces_of_group = 32;   ///< that one CTA merges

/// Of a sequence's tokens and of the heads that share keys.
std::int64_t queries_of_item(const Attention& attention, std::int64_t tokens);

/// Our kernel of few queries has CTAs that stay and share the tiles of cached keys evenly, whichever sequence and head
/// they are of. Tiles are numbered item by item, an item being a sequence's queries of the heads that share keys. Each
/// CTA has as many in a row as any other, up to one, so that an item may lie in pieces with several CTAs. The few keys
/// of the sequence's own rows come with an item's first tile and are not counted. Tiles times CTAs fit an int, in which
/// the device divides several times as fast as in 64 bits: of more the keys fit no GPU's memory.
struct EvenShares {
  int items = 0, tiles_of_item = 0, ctas = 0;

  constexpr int tiles() const { return items * tiles_of_item; }
  constexpr int begin(int cta) const { return tiles() * cta / ctas; }
  constexpr int most_tiles() const { return static_cast<int>(divided_up(tiles(), ctas)); }
  constexpr bool has_pieces() const { return items % ctas != 0; }
  /// Items that a CTA has some or all tiles of, and CTAs that have some of an item: no more than so many.
  constexpr int most_items() const { return most_touched(items, ctas); }
  constexpr int most_pieces() const { return most_touched(ctas, items); }
  constexpr int cta_of(int tile) const { return ((tile + 1) * ctas - 1) / tiles(); }
  constexpr int first_cta(int item) const { return cta_of(item * tiles_of_item); }
  constexpr int pieces(int item) const { return cta_of((item + 1) * tiles_of_item - 1) - first_cta(item) + 1; }

 private:
  /// Of `many` equal pieces in a row, those that lie at least partly in one of `parts` equal parts.
  static constexpr int most_touched(int many, int parts) {
    if (many % parts == 0) return many / parts;
    return many / parts + (parts % (many % parts) == 0 ? 1 : 2);
  }
};

/// Of attention to cached keys by so few queries that the tensor cores have little to do; nothing: of any other.
/// `tokens`: of all sequences together. At most one CTA for each of `sms`, and somewhat fewer where each item then is
/// in as many whole pieces as any other, or each CTA has whole items.
std::optional<EvenShares> even_shares(const Attention& attention, std::int64_t tokens, std::int64_t sms);

}  // namespace weft
