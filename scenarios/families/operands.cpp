#include "scenarios/families/operands.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "models/base/division.hpp"
#include "models/base/input_error.hpp"
#include "scenarios/family_rules.hpp"
#include "scenarios/rank_rows.hpp"

namespace weft::scenarios::families {

Gemm gemm_of(const Slice& a, const Slice& b, const Slice& c) {
  Gemm gemm;
  gemm.a = a;
  gemm.b = b;
  gemm.c = c;
  return gemm;
}

Gemm add_gemm_inputs(Program& program, std::int64_t m, std::int64_t n, std::int64_t k, DataType dtype) {
  Gemm gemm;
  gemm.a = program.whole(program.add_buffer("a", m, k, dtype));
  gemm.b = program.whole(program.add_buffer("b", n, k, dtype));
  return gemm;
}

Gemm add_gemm_operands(Program& program, std::int64_t m, std::int64_t n, std::int64_t k, DataType dtype) {
  Gemm gemm = add_gemm_inputs(program, m, n, k, dtype);
  gemm.c = program.whole(program.add_buffer("c", m, n));
  return gemm;
}

const PairWorkload& pair_of(const Case& request, std::initializer_list<PairOp> ops) {
  const auto* pair = std::get_if<PairWorkload>(&request.workload);
  if (pair && std::find(ops.begin(), ops.end(), pair->op) != ops.end()) return *pair;
  std::string known;
  for (const PairOp op : ops) known += (known.empty() ? "" : ", ") + std::string(name_of(op));
  if (rules_of(request.schedule.family).add_pair != nullptr) known += ", transformer_layer";
  throw InputError("schedule.family", "expected an op that " + std::string(family_of(request.schedule)) + " has (" +
                                          known + "), got " + std::string(op_of(request.workload)));
}

const LayerWorkload& layer_of(const Case& request) {
  if (const auto* layer = std::get_if<LayerWorkload>(&request.workload)) return *layer;
  throw InputError("schedule.family", "expected the op that " + std::string(family_of(request.schedule)) +
                                          " has (transformer_layer), got " + std::string(op_of(request.workload)));
}

Meaning meaning_of(const PairWorkload& pair, std::int64_t rows, BufferId a, BufferId b, BufferId result) {
  return {.op = std::string(name_of(pair.op)), .m = rows, .n = pair.n, .k = pair.k, .a = a, .b = b, .result = result};
}

MatrixShape shape_of(Bytes bytes, int gpus) {
  const std::int64_t elements = bytes / bytes_of(DataType::bf16);
  const std::int64_t per_gpu = elements % gpus == 0 ? elements / gpus : elements;
  const std::int64_t columns = std::gcd(per_gpu, std::int64_t{1024});
  return {elements / columns, columns};
}

ConcurrentOperands add_concurrent_operands(Program& program, const ConcurrentPair& pair, int gpus, int max_ctas) {
  ConcurrentOperands operands;
  operands.gemm = add_gemm_operands(program, pair.m, pair.n, pair.k, pair.dtype);
  const auto [rows, columns] = shape_of(pair.bytes, gpus);
  const Slice reduced = program.whole(program.add_buffer("reduced", rows, columns));
  operands.all_reduce = {.kind = CollectiveKind::all_reduce,
                         .input = reduced,
                         .output = reduced,
                         .transport = Transport::nccl,
                         .max_ctas = max_ctas};
  operands.meaning = {.op = "gemm",
                      .m = pair.m,
                      .n = pair.n,
                      .k = pair.k,
                      .a = operands.gemm.a.buffer,
                      .b = operands.gemm.b.buffer,
                      .result = operands.gemm.c.buffer};
  operands.meaning.also.push_back({.op = "all_reduce",
                                   .m = rows,
                                   .n = columns,
                                   .k = 1,  // there is no GEMM, and a size of 0 is an error
                                   .a = reduced.buffer,
                                   .b = reduced.buffer,
                                   .result = reduced.buffer});
  return operands;
}

std::optional<InputError> why_not_cut(const PairWorkload& pair, std::int64_t unit, const std::string& derivation) {
  if (pair.m % unit == 0) return std::nullopt;
  return InputError("workload.m", "expected a multiple of " + derivation + " = " + std::to_string(unit) + ", got " +
                                      std::to_string(pair.m));
}

std::int64_t rows_of_busiest(const PairWorkload& pair, std::int64_t unit, const std::string& derivation) {
  if (const auto why = why_not_cut(pair, unit, derivation)) throw *why;
  const auto busiest = static_cast<std::int64_t>(std::ceil(static_cast<double>(pair.m) * pair.imbalance));
  return divided_up(busiest, unit) * unit;
}

PairOperands::PairOperands(Program& program, const PairWorkload& pair, std::vector<std::int64_t> rows_of_rank,
                           int chunks, int max_ctas)
    : program_(&program), pair_(pair), rows_of_rank_(std::move(rows_of_rank)), chunks_(chunks), max_ctas_(max_ctas) {
  const std::int64_t rows = rows_of_rank_.front();  // of the busiest
  const auto gpus = static_cast<std::int64_t>(rows_of_rank_.size());
  const Gemm whole = add_gemm_operands(program, rows, pair.n, pair.k, pair.dtype);
  a_ = whole.a.buffer;
  b_ = whole.b.buffer;
  c_ = whole.c.buffer;
  input_ = output_ = c_;
  switch (pair.op) {
    case PairOp::gemm_all_reduce:
      break;  // in place
    case PairOp::gemm_reduce_scatter:
      output_ = program.add_buffer("result", rows / gpus, pair.n);
      break;
    case PairOp::gemm_all_to_all:
      output_ = program.add_buffer("result", pair.m, pair.n);
      break;
    case PairOp::all_gather_gemm:
      input_ = program.add_buffer("shard", rows / gpus, pair.k, pair.dtype);
      output_ = a_;
      break;
    case PairOp::all_to_all_gemm:
      input_ = program.add_buffer("send", pair.m, pair.k, pair.dtype);
      output_ = a_;
      break;
  }
}

Slice PairOperands::chunk_of(BufferId buffer, int chunk) const {
  const std::int64_t count = program_->buffer(buffer).rows / chunks_;
  return program_->rows(buffer, chunk * count, count);
}

Slice PairOperands::gemm_rows_of(BufferId buffer, int chunk) const {
  if (!is_uneven(rows_of_rank_)) return chunk_of(buffer, chunk);
  const std::int64_t first = chunk * program_->buffer(buffer).rows / chunks_;
  return program_->rows_by_rank(buffer, [&](int rank) {
    return RowRange{first, rows_of_rank_[static_cast<std::size_t>(rank)] / chunks_};
  });
}

Gemm PairOperands::gemm(int chunk) const {
  return gemm_of(gemm_rows_of(a_, chunk), program_->whole(b_), gemm_rows_of(c_, chunk));
}

Work PairOperands::collective(int chunk) const {
  if (is_uneven(rows_of_rank_)) return exchange(chunk);
  return Collective{.kind = collective_of(pair_.op),
                    .input = chunk_of(input_, chunk),
                    .output = chunk_of(output_, chunk),
                    .transport = Transport::nccl,
                    .max_ctas = max_ctas_};
}

/// Each rank's GEMM has a W-th of its rows for or from each rank.
GroupedExchange PairOperands::exchange(int chunk) const {
  GroupedExchange exchange{.input = chunk_of(input_, chunk), .output = chunk_of(output_, chunk)};
  exchange.max_ctas = max_ctas_;
  const int gpus = static_cast<int>(rows_of_rank_.size());
  const auto block_of = [&](int rank) { return rows_of_rank_[static_cast<std::size_t>(rank)] / gpus / chunks_; };
  exchange.rows.resize(rows_of_rank_.size());
  for (int source = 0; source < gpus; ++source)
    for (int destination = 0; destination < gpus; ++destination)
      exchange.rows[static_cast<std::size_t>(source)].push_back(
          collective_comes_first(pair_.op)
              ? RowRange{rows_before(rows_of_rank_, destination) / chunks_, block_of(destination)}
              : RowRange{destination * block_of(source), block_of(source)});
  return exchange;
}

Meaning PairOperands::meaning() const {
  const bool gemm_is_last = collective_comes_first(pair_.op);
  return {.op = std::string(name_of(pair_.op)),
          .m = is_uneven(rows_of_rank_) ? pair_.m : rows_of_rank_.front(),
          .n = pair_.n,
          .k = pair_.k,
          .a = gemm_is_last ? input_ : a_,
          .b = b_,
          .result = gemm_is_last ? c_ : output_,
          .chunks = chunks_,
          .rows_of_rank = is_uneven(rows_of_rank_) ? rows_of_rank_ : std::vector<std::int64_t>{}};
}

}  // namespace weft::scenarios::families
