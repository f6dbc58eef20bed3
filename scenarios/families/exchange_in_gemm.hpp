// A GEMM of our own whose blocks of rows are the parts of an exchange, in the order in which they are computed: tiles
// for peers come first and are stored there, or the own rows come first, and those of peers when they have been
// brought.
#pragma once

#include "scenarios/families/program.hpp"

namespace weft::scenarios::families {

/// The blocks of a GEMM: as many of each rank.
struct BlocksOfRanks {
  int gpus = 1, of_each = 1;
};

class ExchangeInGemm {
 public:
  /// Adds the operands of a pair of `rows` rows that reduces nothing, and says what they mean.
  ExchangeInGemm(Program& program, const PairWorkload& pair, BlocksOfRanks blocks, std::int64_t rows);

  /// Without a kernel. Rows that peers have are to be fetched (`a_from`), and results for them are stored there.
  Gemm gemm() const;

 private:
  RowBlock stored(int step, int chunk) const;
  RowBlock brought(int step, int chunk) const;

  Program& program_;
  PairOp op_;
  BlocksOfRanks blocks_;
  BufferId b_ = 0, input_ = 0, brought_ = 0, result_ = 0;
};

/// The last of its earlier blocks becomes what the GEMM itself names.
void make_last_block(Gemm& gemm);

/// Each block of a GEMM of `size` that has a kernel is a group of tiles.
void make_groups_of_blocks(Gemm& gemm, const MatrixSize& size);

}  // namespace weft::scenarios::families
