#include "scenarios/families/one_launch.hpp"

#include <algorithm>

#include "models/cost/gemm_model.hpp"
#include "models/cost/library_model.hpp"
#include "models/schedule/fetch_order.hpp"
#include "models/schedule/layout.hpp"
#include "models/schedule/own_kernels.hpp"
#include "scenarios/families/fused_rotation.hpp"
#include "scenarios/families/hybrid_transfers.hpp"
#include "scenarios/families/operands.hpp"
#include "scenarios/families/wave_groups.hpp"

namespace weft::scenarios::families {
namespace {

/// Bytes that leave or enter a GPU; an all-reduce sends sums besides.
double bytes_on_links(const PairWorkload& pair, int gpus, std::int64_t rows) {
  const bool gemm_first = !collective_comes_first(pair.op);
  const std::int64_t row_bytes = gemm_first ? pair.n * bytes_of(DataType::bf16) : pair.k * bytes_of(pair.dtype);
  return bytes_out(CollectiveAlgorithm::direct, collective_of(pair.op), gpus, static_cast<double>(rows * row_bytes));
}

/// The blocks of rows of an exchange, in the order in which they are computed.
class ExchangeInGemm {
 public:
  ExchangeInGemm(Program& program, const Case& request, const PairWorkload& pair, std::int64_t rows)
      : program_(program), pair_(pair), gpus_(request.gpus), count_(std::get<Hybrid>(request.schedule.family).count) {
    b_ = program.add_buffer("b", pair.n, pair.k, pair.dtype);
    if (collective_comes_first(pair.op)) {
      const bool is_gather = pair.op == PairOp::all_gather_gemm;
      input_ = program.add_buffer(is_gather ? "shard" : "send", is_gather ? rows / gpus_ : rows, pair.k, pair.dtype,
                                  Memory::symmetric);
      fetched_ = program.add_buffer("a", rows, pair.k, pair.dtype);
      result_ = program.add_buffer("c", rows, pair.n);
    } else {
      input_ = program.add_buffer("a", rows, pair.k, pair.dtype);
      result_ = program.add_buffer("result", rows, pair.n, DataType::bf16, Memory::symmetric);
    }
    program.set_meaning(meaning_of(pair, rows, input_, b_, result_));
  }

  Gemm gemm() const {
    Gemm gemm = gemm_of({}, program_.whole(b_), {});
    for (int i = 0; i < gpus_; ++i)
      for (int chunk = 0; chunk < count_; ++chunk)
        gemm.earlier.push_back(collective_comes_first(pair_.op) ? fetched(i, chunk) : stored((i + 1) % gpus_, chunk));
    make_last_block(gemm);
    return gemm;
  }

 private:
  /// For rank + `step`, where this rank's rows lie behind one another.
  RowBlock stored(int step, int chunk) const {
    return {program_.shard(input_, step, chunk, count_), at(program_.shard(result_, 0, chunk, count_), step)};
  }
  /// From rank + `step`; the own ones are read where they are.
  RowBlock fetched(int step, int chunk) const {
    const bool is_gather = pair_.op == PairOp::all_gather_gemm;
    const std::int64_t rows = program_.buffer(result_).rows / gpus_ / count_;
    const Slice own = is_gather ? program_.rows(input_, chunk * rows, rows) : program_.shard(input_, 0, chunk, count_);
    const Slice c = program_.shard(result_, step, chunk, count_);
    if (step == 0) return {own, c};
    return {.a = program_.shard(fetched_, step, chunk, count_), .c = c, .a_from = at(own, step)};
  }

  Program& program_;
  const PairWorkload& pair_;
  int gpus_, count_;
  BufferId b_ = 0, input_ = 0, fetched_ = 0, result_ = 0;
};

}  // namespace

double estimated_launch_us(const PairWorkload& pair, const Hybrid& hybrid, int gpus, std::int64_t rows,
                           const GemmKernel& kernel, const Machine& machine) {
  const GemmTiming& gemm = machine.gemm;
  const bool fetches = collective_comes_first(pair.op);
  const double own_GBps = fetches ? gemm.own_fetch_GBps : gemm.own_store_GBps;
  const double GBps = own_GBps > 0 ? own_GBps : busiest_link(machine.fabric, CollectiveAlgorithm::direct, gpus).GBps;
  const double links_us = bytes_on_links(pair, gpus, rows) / bytes_per_us(GBps);
  const MatrixSize size{rows, pair.n, pair.k}, block{rows / gpus / hybrid.count, pair.n, pair.k};
  const int parts_of_tile = fetches ? fetch_order(block, pair.dtype, own_order, tile_grid(kernel, block)).chunks : 1;
  const double held_us = fetches ? gemm.own_fetch_hold * links_us : 0;
  return std::max(estimated_gemm_us(machine, size, kernel, pair.dtype) + held_us,
                  links_us + time_tile(machine, size, kernel, pair.dtype).tile_us / parts_of_tile);
}

GemmKernel tiles_of_launch(const PairWorkload& pair, const Hybrid& hybrid, int gpus, std::int64_t rows,
                           const Machine& machine) {
  TileChoice choice{.band_rows = rows / gpus / hybrid.count,
                    .dtype = pair.dtype,
                    .scheduler = tiles_of(hybrid, machine),
                    .columns = TileColumns::ragged,
                    .last_wave = LastWave::may_be_cut,
                    .free_rows = reduces(pair.op) ? rows / gpus : 0};
  if (is_one_launch(hybrid))
    choice.time_us = [&](const GemmKernel& kernel) {
      return estimated_launch_us(pair, hybrid, gpus, rows, kernel, machine);
    };
  return fastest_tiles({rows, pair.n, pair.k}, choice, machine);
}

void make_last_block(Gemm& gemm) {
  const RowBlock last = gemm.earlier.back();
  gemm.earlier.pop_back();
  gemm.a = last.a, gemm.c = last.c, gemm.addend = last.addend, gemm.replicas = last.replicas, gemm.a_from = last.a_from;
}

void add_one_launch(Program& program, const Case& request, const PairWorkload& pair, std::int64_t rows,
                    const Machine& machine) {
  if (reduces(pair.op)) return add_fused_rotation(program, request, pair, rows, machine);
  const auto& hybrid = std::get<Hybrid>(request.schedule.family);
  Gemm gemm = ExchangeInGemm(program, request, pair, rows).gemm();
  gemm.kernel = tiles_of_launch(pair, hybrid, request.gpus, rows, machine);
  gemm.order = own_order;
  gemm.max_sms = hybrid.gemm_sms;
  gemm.meets = PeerMeeting::begin_and_end;
  const std::size_t blocks = gemm.earlier.size() + 1;
  const MatrixSize block{rows / static_cast<std::int64_t>(blocks), pair.n, pair.k};
  gemm.tile_groups.assign(blocks, tile_grid(*gemm.kernel, block).tiles());
  program.add(main_stream, "gemm", gemm);
  program.set_machine(machine.name);
}

}  // namespace weft::scenarios::families
