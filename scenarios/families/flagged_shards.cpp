#include "scenarios/families/flagged_shards.hpp"

#include <algorithm>
#include <utility>

#include "models/cost/gemm_model.hpp"
#include "models/schedule/own_kernels.hpp"
#include "scenarios/families/wave_groups.hpp"

namespace weft::scenarios::families {
namespace {

/// Brings the rows of every block that were to be fetched, and lets its tiles wait for them.
class FlaggedPulls {
 public:
  explicit FlaggedPulls(Program& program)
      : program_(program),
        pulls_(program.add_stream("s1", highest_priority)),
        flags_(program.add_stream("s2", highest_priority)) {}

  void add(Gemm& gemm) {
    program_.add(pulls_, "enter", Barrier{});
    for (std::size_t block = 0; block < gemm.earlier.size(); ++block)
      bring(gemm.earlier[block].a, gemm.earlier[block].a_from, static_cast<int>(block), gemm);
    bring(gemm.a, gemm.a_from, static_cast<int>(gemm.earlier.size()), gemm);
    program_.add(pulls_, "leave", Barrier{});
  }

 private:
  void bring(const Slice& a, std::optional<Slice>& from, int block, Gemm& gemm) {
    if (!from) return;
    const std::string number = " " + std::to_string(++brought_);
    const CounterId flag = program_.add_counter({"rows" + number, false});
    const OperationId pull = program_.add(pulls_, "pull" + number, Copy{*std::exchange(from, {}), a});
    program_.wait(flags_, After{pull});
    program_.add(flags_, "flag" + number, Signal{.counter = flag});
    gemm.waits.push_back({.tile_group = block, .counter = flag, .value = 1});
  }

  Program& program_;
  StreamId pulls_, flags_;
  int brought_ = 0;
};

}  // namespace

double estimated_flagged_us(const PairWorkload& pair, BlocksOfRanks blocks, std::int64_t rows, const GemmKernel& kernel,
                            const Machine& machine) {
  const Latencies& latencies = machine.latencies;
  const CopyEngines& engines = machine.copy_engines;
  const MatrixSize block{rows / blocks.gpus / blocks.of_each, pair.n, pair.k};
  const double copy_us = engines.setup_us + engines.turnaround_us +
                         static_cast<double>(block.m * block.k * bytes_of(pair.dtype)) / bytes_per_us(engines.GBps);
  const double come_us = latencies.barrier_us + latencies.before_copy_gap_us +
                         (blocks.gpus - 1) * blocks.of_each * copy_us + latencies.after_copy_gap_us +
                         latencies.signal_kernel_us;
  return std::max(estimated_gemm_us(machine, {rows, pair.n, pair.k}, kernel, pair.dtype),
                  come_us + estimated_gemm_us(machine, block, kernel, pair.dtype));
}

GemmKernel tiles_of_flagged(const PairWorkload& pair, BlocksOfRanks blocks, std::int64_t rows, SignalingTiles scheduler,
                            const Machine& machine) {
  return fastest_tiles({rows, pair.n, pair.k},
                       {.band_rows = rows / blocks.gpus / blocks.of_each,
                        .dtype = pair.dtype,
                        .scheduler = scheduler,
                        .columns = TileColumns::ragged,
                        .last_wave = LastWave::may_be_cut},
                       machine);
}

void add_flagged_gemm(Program& program, const PairWorkload& pair, BlocksOfRanks blocks, std::int64_t rows,
                      const GemmKernel& kernel, int max_sms) {
  Gemm gemm = ExchangeInGemm(program, pair, blocks, rows).gemm();
  gemm.kernel = kernel;
  gemm.order = own_order;
  gemm.max_sms = max_sms;
  make_groups_of_blocks(gemm, {rows, pair.n, pair.k});
  FlaggedPulls(program).add(gemm);
  program.add(main_stream, "gemm", gemm);
}

}  // namespace weft::scenarios::families
