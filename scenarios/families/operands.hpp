// The operands that several families share.
#pragma once

#include <initializer_list>
#include <optional>

#include "scenarios/families/program.hpp"

namespace weft::scenarios::families {

/// With the library's kernel.
Gemm gemm_of(const Slice& a, const Slice& b, const Slice& c);

/// Adds a[m, k] and b[n, k], and returns the GEMM over them without a place for its result.
Gemm add_gemm_inputs(Program& program, std::int64_t m, std::int64_t n, std::int64_t k, DataType dtype);
/// The same with c[m, n] in bf16.
Gemm add_gemm_operands(Program& program, std::int64_t m, std::int64_t n, std::int64_t k, DataType dtype);

/// The pair that is asked for. Throws InputError where it is no pair or not one of the `ops` that the family has.
const PairWorkload& pair_of(const Case& request, std::initializer_list<PairOp> ops);

/// The layer that is asked for. Throws InputError where it is none.
const LayerWorkload& layer_of(const Case& request);

/// That `rows` of a times b, with the pair's collective, are `result`.
Meaning meaning_of(const PairWorkload& pair, std::int64_t rows, BufferId a, BufferId b, BufferId result);

struct MatrixShape {
  std::int64_t rows = 0, columns = 0;
};
/// `bytes` as a bf16 matrix whose rows divide by `gpus` where the bytes can be cut so, with at most 1024 columns.
MatrixShape shape_of(Bytes bytes, int gpus);

/// What `gemm||all_reduce` works on: two operations that share nothing.
struct ConcurrentOperands {
  Gemm gemm;
  Collective all_reduce;
  Meaning meaning;  ///< of the GEMM, and also of the all-reduce, which is in place
};
ConcurrentOperands add_concurrent_operands(Program& program, const ConcurrentPair& pair, int gpus, int max_ctas);

/// A GEMM and the collective before or after it, cut into row chunks. The rows of every operand but b are cut evenly,
/// so chunk i of the collective's input is exactly what chunk i of the GEMM writes (or of its output what the GEMM
/// reads). Across ranks, rows of chunked all-gather, reduce-scatter and all-to-all are therefore owned
/// block-cyclically. Where ranks differ in rows, a chunk of each rank begins where that of the rank with most rows
/// begins, and the exchange is a grouped one.
class PairOperands {
 public:
  /// `rows_of_rank` as rows_of_ranks() gives them.
  PairOperands(Program& program, const PairWorkload& pair, std::vector<std::int64_t> rows_of_rank, int chunks,
               int max_ctas);

  Gemm gemm(int chunk) const;
  Work collective(int chunk) const;
  Meaning meaning() const;

 private:
  Slice chunk_of(BufferId buffer, int chunk) const;
  /// Of a buffer of the GEMM's rows: the rows of each rank's own chunk.
  Slice gemm_rows_of(BufferId buffer, int chunk) const;
  GroupedExchange exchange(int chunk) const;

  const Program* program_;
  PairWorkload pair_;
  std::vector<std::int64_t> rows_of_rank_;
  int chunks_;
  int max_ctas_;
  BufferId a_ = 0, b_ = 0, c_ = 0;
  BufferId input_ = 0, output_ = 0;  // of the collective
};

/// The complaint where `unit` does not divide the pair's m; `derivation` says what the unit is ("gpus x chunks").
std::optional<InputError> why_not_cut(const PairWorkload& pair, std::int64_t unit, const std::string& derivation);

/// Rows of the GPU that has most to do. Ranks with fewer rows wait for it, so every rank runs its sizes: m x imbalance,
/// rounded up to a multiple of `unit`. Throws InputError as why_not_cut() says.
std::int64_t rows_of_busiest(const PairWorkload& pair, std::int64_t unit, const std::string& derivation);

}  // namespace weft::scenarios::families
