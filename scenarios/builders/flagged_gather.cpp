// signaling of all_gather+gemm: one GEMM that is never cut, and begins with the own rows. Copy engines pull the other
// shards in ring order and raise a flag after each; tiles wait for the flag of their rows.
//
//   s0: copy own | gemm
//   s1: pull 1 | flag 1 | pull 2 | flag 2 | …
//
// Rows are gathered in the order in which they arrive, so the result begins with the own rows on every rank; undoing
// that is the next kernel's business.
#include "models/input_error.hpp"
#include "models/layout.hpp"
#include "scenarios/builders/families.hpp"
#include "scenarios/builders/operands.hpp"
#include "scenarios/builders/wave_groups.hpp"

namespace weft::scenarios {
namespace {

/// Tiles run shard by shard: a band of tile rows is a shard.
void cut_into_shards(Gemm& gemm, const MatrixSize& size, int gpus) {
  const TileGrid grid = tile_grid(*gemm.kernel, size);
  gemm.order.swizzle = static_cast<int>(grid.rows / gpus);
  gemm.tile_groups.assign(static_cast<std::size_t>(gpus), grid.tiles() / gpus);
}

}  // namespace

Schedule build_flagged_gather(const Case& request, const Machine& machine) {
  const PairWorkload& pair = pair_of(request, {PairOp::all_gather_gemm});
  if (!std::get<Signaling>(request.schedule.family).groups.empty())
    throw InputError("schedule.groups", "expected searched: the groups of all_gather+gemm are the shards");
  const int gpus = request.gpus;
  const std::int64_t rows = rows_of_busiest(pair, std::int64_t{gpus} * tile_extent, "gpus x a tile's rows");
  const std::int64_t shard_rows = rows / gpus;

  Program program(request);
  const StreamId s1 = program.add_stream("s1", 0);
  const BufferId shard = program.add_buffer("shard", shard_rows, pair.k, pair.dtype, Memory::symmetric);
  Gemm gemm = add_gemm_operands(program, rows, pair.n, pair.k, pair.dtype);
  gemm.kernel = fastest_tiles({rows, pair.n, pair.k}, shard_rows, pair.dtype, machine);
  cut_into_shards(gemm, {rows, pair.n, pair.k}, gpus);
  const auto arrived = [&](int step) { return program.rows(gemm.a.buffer, step * shard_rows, shard_rows); };

  for (int step = 1; step < gpus; ++step) {
    const std::string number = std::to_string(step);
    const CounterId flag = program.add_counter({"shard " + number, false});
    program.add(s1, "pull " + number, Copy{program.whole(shard, step), arrived(step)});
    program.add(s1, "flag " + number, Signal{.counter = flag, .path = SignalPath::stream_write});
    gemm.waits.push_back({.tile_group = step, .counter = flag, .value = 1});
  }
  program.add(main_stream, "copy own", Copy{program.whole(shard), arrived(0)});
  program.add(main_stream, "gemm", gemm);
  program.set_meaning({.op = std::string(name_of(pair.op)),
                       .m = rows,
                       .n = pair.n,
                       .k = pair.k,
                       .a = shard,
                       .b = gemm.b.buffer,
                       .result = gemm.c.buffer,
                       .own_rows_first = true});
  program.set_machine(machine.name);
  return std::move(program).finish();
}

}  // namespace weft::scenarios
