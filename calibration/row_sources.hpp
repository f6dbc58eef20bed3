// Where the rows of a result come from: the permutation that a chunked collective makes of them.
//
// W ranks, m rows cut in c chunks; chunk i = rows [m i/c, m (i+1)/c), block b = m/(cW) rows. With row = chunk and
// block-wise position (i, s, q), 0 <= q < b, storage row i m/c + s b + q:
//   reduce_scatter  rank r, output row i b + q    <- row i m/c + r b + q of every rank
//   all_gather      gathered row (i, s, q)        <- row i b + q of rank s
//   all_to_all      rank r, received row (i, s, q) <- row i m/c + r b + q of rank s
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "models/schedule.hpp"

namespace weft::calibration {

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

  /// Rows whose sum is row `row` of the collective's result on rank `rank`.
  std::vector<RowSource> sources(int rank, std::int64_t row) const;
  /// Rows of the collective's result on each rank.
  std::int64_t result_rows() const;
};

}  // namespace weft::calibration
