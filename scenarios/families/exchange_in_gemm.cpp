#include "scenarios/families/exchange_in_gemm.hpp"

#include "models/schedule/layout.hpp"
#include "scenarios/families/hybrid_transfers.hpp"
#include "scenarios/families/operands.hpp"

namespace weft::scenarios::families {

ExchangeInGemm::ExchangeInGemm(Program& program, const PairWorkload& pair, BlocksOfRanks blocks, std::int64_t rows)
    : program_(program), op_(pair.op), blocks_(blocks) {
  b_ = program.add_buffer("b", pair.n, pair.k, pair.dtype);
  if (collective_comes_first(pair.op)) {
    const bool is_gather = pair.op == PairOp::all_gather_gemm;
    input_ = program.add_buffer(is_gather ? "shard" : "send", is_gather ? rows / blocks.gpus : rows, pair.k, pair.dtype,
                                Memory::symmetric);
    brought_ = program.add_buffer("a", rows, pair.k, pair.dtype);
    result_ = program.add_buffer("c", rows, pair.n);
  } else {
    input_ = program.add_buffer("a", rows, pair.k, pair.dtype);
    result_ = program.add_buffer("result", rows, pair.n, DataType::bf16, Memory::symmetric);
  }
  program.set_meaning(meaning_of(pair, rows, input_, b_, result_));
}

Gemm ExchangeInGemm::gemm() const {
  Gemm gemm = gemm_of({}, program_.whole(b_), {});
  for (int i = 0; i < blocks_.gpus; ++i)
    for (int chunk = 0; chunk < blocks_.of_each; ++chunk)
      gemm.earlier.push_back(collective_comes_first(op_) ? brought(i, chunk) : stored((i + 1) % blocks_.gpus, chunk));
  make_last_block(gemm);
  return gemm;
}

/// For rank + `step`, where this rank's rows lie behind one another.
RowBlock ExchangeInGemm::stored(int step, int chunk) const {
  return {program_.shard(input_, step, chunk, blocks_.of_each),
          at(program_.shard(result_, 0, chunk, blocks_.of_each), step)};
}

/// From rank + `step`; the own ones are read where they are.
RowBlock ExchangeInGemm::brought(int step, int chunk) const {
  const bool is_gather = op_ == PairOp::all_gather_gemm;
  const std::int64_t rows = program_.buffer(result_).rows / blocks_.gpus / blocks_.of_each;
  const Slice own =
      is_gather ? program_.rows(input_, chunk * rows, rows) : program_.shard(input_, 0, chunk, blocks_.of_each);
  const Slice c = program_.shard(result_, step, chunk, blocks_.of_each);
  if (step == 0) return {own, c};
  return {.a = program_.shard(brought_, step, chunk, blocks_.of_each), .c = c, .a_from = at(own, step)};
}

void make_last_block(Gemm& gemm) {
  const RowBlock last = gemm.earlier.back();
  gemm.earlier.pop_back();
  gemm.a = last.a, gemm.c = last.c, gemm.addend = last.addend, gemm.replicas = last.replicas, gemm.a_from = last.a_from;
}

void make_groups_of_blocks(Gemm& gemm, const MatrixSize& size) {
  const std::size_t blocks = gemm.earlier.size() + 1;
  const MatrixSize block{size.m / static_cast<std::int64_t>(blocks), size.n, size.k};
  gemm.tile_groups.assign(blocks, tile_grid(*gemm.kernel, block).tiles());
}

}  // namespace weft::scenarios::families
