#include "scenarios/families/one_launch.hpp"

#include <algorithm>

#include "models/cost/gemm_model.hpp"
#include "models/cost/library_model.hpp"
#include "models/schedule/fetch_order.hpp"
#include "models/schedule/own_kernels.hpp"
#include "scenarios/families/exchange_in_gemm.hpp"
#include "scenarios/families/fused_rotation.hpp"
#include "scenarios/families/hybrid_transfers.hpp"
#include "scenarios/families/wave_groups.hpp"

namespace weft::scenarios::families {
namespace {

/// Bytes that leave or enter a GPU; an all-reduce sends sums besides.
double bytes_on_links(const PairWorkload& pair, int gpus, std::int64_t rows) {
  const bool gemm_first = !collective_comes_first(pair.op);
  const std::int64_t row_bytes = gemm_first ? pair.n * bytes_of(DataType::bf16) : pair.k * bytes_of(pair.dtype);
  return bytes_out(CollectiveAlgorithm::direct, collective_of(pair.op), gpus, static_cast<double>(rows * row_bytes));
}

}  // namespace

double estimated_launch_us(const PairWorkload& pair, const Hybrid& hybrid, int gpus, std::int64_t rows,
                           const GemmKernel& kernel, const Machine& machine) {
  const GemmTiming& gemm = machine.gemm;
  const bool fetches = collective_comes_first(pair.op);
  const double own_GBps = fetches ? gemm.own_fetch_GBps : gemm.own_store_GBps;
  const double GBps = own_GBps > 0 ? own_GBps : busiest_link(machine.fabric, CollectiveAlgorithm::direct, gpus).GBps;
  const double links_us = bytes_on_links(pair, gpus, rows) / bytes_per_us(GBps);
  const MatrixSize size{rows, pair.n, pair.k}, block{rows / gpus / hybrid.count, pair.n, pair.k};
  const TileGrid tiles = tile_grid(kernel, block);
  const double tile_us = time_tile(machine, size, kernel, pair.dtype).tile_us;
  if (!fetches) return std::max(estimated_gemm_us(machine, size, kernel, pair.dtype), links_us + tile_us);
  const auto ctas = static_cast<int>(hybrid.gemm_sms > 0 ? hybrid.gemm_sms : persistent_ctas(machine.gpu, kernel));
  const FetchOrder fetch = fetch_order(block, pair.dtype, own_order, tiles, ctas, kernel.tile_m);
  const double first_chunk_us = static_cast<double>(fetch.band_rows) * fetch.chunk_bytes / bytes_per_us(GBps);
  return std::max({estimated_gemm_us(machine, size, kernel, pair.dtype, tiles.tiles() * hybrid.count) +
                       gemm.own_fetch_hold * links_us,
                   links_us + tile_us / fetch.chunks, gemm.own_fetch_latency_us + first_chunk_us + tile_us});
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

void add_one_launch(Program& program, const Case& request, const PairWorkload& pair, std::int64_t rows,
                    const Machine& machine) {
  if (reduces(pair.op)) return add_fused_rotation(program, request, pair, rows, machine);
  const auto& hybrid = std::get<Hybrid>(request.schedule.family);
  Gemm gemm = ExchangeInGemm(program, pair, {request.gpus, hybrid.count}, rows).gemm();
  gemm.kernel = tiles_of_launch(pair, hybrid, request.gpus, rows, machine);
  gemm.order = own_order;
  gemm.max_sms = hybrid.gemm_sms;
  gemm.meets = PeerMeeting::begin_and_end;
  make_groups_of_blocks(gemm, {rows, pair.n, pair.k});
  program.add(main_stream, "gemm", gemm);
  program.set_machine(machine.name);
}

}  // namespace weft::scenarios::families
