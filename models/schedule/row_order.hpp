// Where the rows of a result come from: the permutation that a chunked collective makes of them.
//
// W ranks, m rows cut in c chunks; chunk i = rows [m i/c, m (i+1)/c), block b = m/(cW) rows. Row (i, s, q), with
// 0 <= q < b, is row i m/c + s b + q of the full m rows:
//   reduce_scatter  rank r, output row i b + q    <- row (i, r, q) of every rank
//   all_gather      gathered row (i, s, q)        <- row i b + q of rank s
//   all_to_all      rank r, received row (i, s, q) <- row (i, r, q) of rank s
//   all_reduce      row                           <- the same row of every rank
//
// An all_to_all of ranks that differ, rank r with m_r rows and the blocks b_r = m_r/(cW), m = max m_r:
//   senders differ    rank r, chunk i: the blocks of rank 0, 1, …; that of rank s <- row m i/c + r b_s + q of rank s
//   receivers differ  rank r, block s, row q                                     <- row b_0 + … + b_(r-1) + q of rank s
// where c is 1 if receivers differ.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "models/schedule/schedule.hpp"

namespace weft {

/// What a `Meaning::op` says: at most one collective, and a GEMM before or after it.
struct ResultForm {
  enum class GemmPlace { none, before, after };
  GemmPlace gemm = GemmPlace::none;
  std::optional<CollectiveKind> collective;
};

/// Empty for operations that have no such form.
std::optional<ResultForm> result_form(std::string_view op);

struct RowSource {
  int rank = 0;
  std::int64_t row = 0;
  bool operator==(const RowSource&) const = default;
};

struct RowOrder {
  std::optional<CollectiveKind> collective;
  std::int64_t rows = 0;  ///< m: of the full buffer (reduce_scatter: its input, all_gather: its output)
  int chunks = 1;
  int ranks = 1;
  bool own_rows_first = false;  ///< all_gather: row 0 of the result is the first of the own shard
  /// all_to_all: rows of the senders or of the receivers, where they differ, `rows` on average; empty: all have `rows`
  std::vector<std::int64_t> rows_of_rank = {};
  bool receivers_differ = false;

  /// Can the rows be cut like that? An all-reduce cuts none.
  bool divides() const;
  /// Rows whose sum is row `row` of the collective's result on rank `rank`, in the order of the ranks.
  std::vector<RowSource> sources(int rank, std::int64_t row) const;
  /// Rows of the collective's operand and result on each rank.
  std::int64_t input_rows() const;
  std::int64_t result_rows() const;
  /// On one rank of those that may differ.
  std::int64_t result_rows_of(int rank) const;

 private:
  std::vector<RowSource> sources_of_uneven(int rank, std::int64_t row) const;
};

}  // namespace weft
