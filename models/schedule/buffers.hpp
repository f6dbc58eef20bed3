// Matrices on every rank, how they are stored, and the parts of them that operations name.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "models/base/names.hpp"
#include "models/base/units.hpp"

namespace weft {

using BufferId = int;

enum class DataType { bf16, fp16, fp32, fp8 };
template <>
struct NamesOf<DataType> {
  static constexpr std::array names{
      std::pair{DataType::bf16, std::string_view{"bf16"}}, std::pair{DataType::fp16, std::string_view{"fp16"}},
      std::pair{DataType::fp32, std::string_view{"fp32"}}, std::pair{DataType::fp8, std::string_view{"fp8"}}};
};
constexpr Bytes bytes_of(DataType type) { return type == DataType::fp32 ? 4 : type == DataType::fp8 ? 1 : 2; }

/// Order in which a GEMM's tiles run. `swizzle` s walks s tile rows at a time, column by column inside the band
/// (s = 1: row after row; s = all tile rows: column after column).
struct TileOrder {
  int swizzle = 1;
  bool operator==(const TileOrder&) const = default;
};

enum class LayoutKind {
  row_major,         ///< storage is the logical matrix
  tile_ordered,      ///< tiles one after the other in execution order; storage is [tiles x tile_rows, tile_columns]
  sub_tile_ordered,  ///< like tile_ordered, but inside each tile group first the rows of every tile that go to rank 0,
                     ///< then those for rank 1, …: what a reduce-scatter of a group's range needs
  per_destination,   ///< like sub_tile_ordered, but a tile's rows go to the ranks in turn: each tile group holds a pool
                     ///< of parts of rows for every destination, as an all-to-all of tokens needs
};
template <>
struct NamesOf<LayoutKind> {
  static constexpr std::array names{std::pair{LayoutKind::row_major, std::string_view{"row_major"}},
                                    std::pair{LayoutKind::tile_ordered, std::string_view{"tile_ordered"}},
                                    std::pair{LayoutKind::sub_tile_ordered, std::string_view{"sub_tile_ordered"}},
                                    std::pair{LayoutKind::per_destination, std::string_view{"per_destination"}}};
};

/// A named permutation from a logical matrix [rows, columns] to storage. Everything but `kind` is unused (0) for
/// row_major.
struct Layout {
  LayoutKind kind = LayoutKind::row_major;
  std::int64_t rows = 0, columns = 0;            ///< logical matrix
  std::int64_t tile_rows = 0, tile_columns = 0;  ///< must divide rows and columns
  TileOrder order = {};
  /// Tiles of each group, in execution order (sub_tile_ordered, per_destination).
  std::vector<std::int64_t> group_tiles = {};
  bool operator==(const Layout&) const = default;
};

enum class Memory { local, symmetric };  ///< symmetric: mapped by the peers
template <>
struct NamesOf<Memory> {
  static constexpr std::array names{std::pair{Memory::local, std::string_view{"local"}},
                                    std::pair{Memory::symmetric, std::string_view{"symmetric"}}};
};

/// A matrix in storage order, on every rank.
struct Buffer {
  std::string name;
  std::int64_t rows = 0, columns = 0;
  DataType dtype = DataType::bf16;
  Memory memory = Memory::local;
  Layout layout = {};
  double element_bits = 0;  ///< in memory, of weights that kernels expand to `dtype`, scales included; 0: of `dtype`
  bool operator==(const Buffer&) const = default;
};
inline bool is_packed(const Buffer& buffer) { return buffer.element_bits > 0; }
/// Of so many of its elements.
inline Bytes bytes_of(const Buffer& buffer, std::int64_t elements) {
  if (!is_packed(buffer)) return elements * bytes_of(buffer.dtype);
  return static_cast<Bytes>(std::ceil(static_cast<double>(elements) * buffer.element_bits / 8));
}

/// Rows [first, first + count).
struct RowRange {
  std::int64_t first = 0, count = 0;
  bool operator==(const RowRange&) const = default;
};

/// Sub-chunk `chunk` of `chunks` of shard (rank + rank_offset) mod gpus, where a shard is 1/gpus of `of_rows` rows that
/// start at `first`.
struct ShardRows {
  int rank_offset = 0;
  int chunk = 0, chunks = 1;
  std::int64_t first = 0, of_rows = 0;
  bool operator==(const ShardRows&) const = default;
};

/// Rank r has the rows of_rank[r], maybe none: where ranks differ in size. Of a GEMM's a and c and of copies.
struct RankRows {
  std::vector<RowRange> of_rank;
  bool operator==(const RankRows&) const = default;
};
using Rows = std::variant<RowRange, ShardRows, RankRows>;

/// A rectangle of a buffer on rank (rank + place) mod gpus.
struct Slice {
  BufferId buffer = 0;
  int place = 0;
  Rows rows = {};
  std::int64_t first_column = 0, columns = 0;
  bool operator==(const Slice&) const = default;
};

inline bool differ_by_rank(const Rows& rows) { return std::holds_alternative<RankRows>(rows); }

/// As rank `rank` sees them.
inline std::int64_t row_count(const Rows& rows, int rank, int gpus) {
  if (const auto* range = std::get_if<RowRange>(&rows)) return range->count;
  if (const auto* ranges = std::get_if<RankRows>(&rows)) return ranges->of_rank[static_cast<std::size_t>(rank)].count;
  const auto& shard = std::get<ShardRows>(rows);
  return shard.of_rows / gpus / shard.chunks;
}
/// Of the rank that has most.
inline std::int64_t row_count(const Rows& rows, int gpus) {
  if (!differ_by_rank(rows)) return row_count(rows, 0, gpus);
  std::int64_t most = 0;
  for (const RowRange& range : std::get<RankRows>(rows).of_rank) most = std::max(most, range.count);
  return most;
}
/// First row as rank `rank` sees it.
inline std::int64_t first_row(const Rows& rows, int rank, int gpus) {
  if (const auto* range = std::get_if<RowRange>(&rows)) return range->first;
  if (const auto* ranges = std::get_if<RankRows>(&rows)) return ranges->of_rank[static_cast<std::size_t>(rank)].first;
  const auto& shard = std::get<ShardRows>(rows);
  const int owner = ((rank + shard.rank_offset) % gpus + gpus) % gpus;
  const std::int64_t shard_rows = shard.of_rows / gpus;
  return shard.first + owner * shard_rows + shard.chunk * (shard_rows / shard.chunks);
}

}  // namespace weft
