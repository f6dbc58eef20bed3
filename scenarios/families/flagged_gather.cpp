// signaling of all_gather+gemm: one GEMM that is never cut, and begins with the own rows. Copy engines pull the other
// shards in ring order and raise a flag after each; tiles wait for the flag of their rows.
//
//   s0: copy own | gemm
//   s1: pull 1 | flag 1 | pull 2 | flag 2 | …
//
// Rows are gathered in the order in which they arrive, so the result begins with the own rows on every rank; undoing
// that is the next kernel's business.
#include <utility>

#include "models/base/input_error.hpp"
#include "models/cost/gemm_model.hpp"
#include "models/schedule/layout.hpp"
#include "scenarios/families/families.hpp"
#include "scenarios/families/operands.hpp"
#include "scenarios/families/wave_groups.hpp"

namespace weft::scenarios::families {
namespace {

/// The GEMM over all rows, whose bands of whole tiles are the shards.
struct ShardedGemm {
  const PairWorkload& pair;
  MatrixSize size;
  std::int64_t shard_rows = 0;
  GemmKernel kernel;
};

ShardedGemm in_shards(const Case& request, const Machine& machine) {
  const PairWorkload& pair = pair_of(request, {PairOp::all_gather_gemm});
  const std::int64_t rows = rows_of_busiest(pair, std::int64_t{request.gpus} * tile_extent, "gpus x a tile's rows");
  const MatrixSize size{rows, pair.n, pair.k};
  const std::int64_t shard_rows = rows / request.gpus;
  const std::optional<SignalingTiles> chosen = std::get<Signaling>(request.schedule.family).scheduler;
  const SignalingTiles scheduler = chosen.value_or(tile_schedulers(machine).back());  // no collective needs an SM
  return {pair, size, shard_rows,
          fastest_tiles(size, {.band_rows = shard_rows, .dtype = pair.dtype, .scheduler = scheduler}, machine)};
}

/// Tiles run shard by shard: a band of tile rows is a shard.
void cut_into_shards(Gemm& gemm, const MatrixSize& size, int gpus) {
  const TileGrid grid = tile_grid(*gemm.kernel, size);
  gemm.order.swizzle = static_cast<int>(grid.rows / gpus);
  gemm.tile_groups.assign(static_cast<std::size_t>(gpus), grid.tiles() / gpus);
}

std::string in_words(const std::vector<int>& groups) {
  std::string words;
  for (const int waves : groups) words += (words.empty() ? "[" : ", ") + std::to_string(waves);
  return words + "]";
}

void check_groups(const std::vector<int>& groups, const Signaling& shards) {
  if (groups == shards.groups) return;
  throw InputError("schedule.groups", "expected \"searched\" or " + in_words(shards.groups) +
                                          ", the waves of each shard: the groups of all_gather+gemm are the shards, "
                                          "got " +
                                          in_words(groups));
}

}  // namespace

/// Copy engines bring the shards, so a wave has all SMs.
Signaling shard_groups(const Case& request, const Machine& machine) {
  const ShardedGemm plan = in_shards(request, machine);
  const std::int64_t tiles = tile_grid(plan.kernel, plan.size).tiles() / request.gpus;
  const std::int64_t wave = std::int64_t{machine.gpu.sms()} * ctas_per_sm(machine, plan.kernel, plan.pair.dtype);
  return {std::vector<int>(static_cast<std::size_t>(request.gpus), static_cast<int>((tiles + wave - 1) / wave))};
}

void add_flagged_gather(Program& program, const Case& request, const Machine& machine) {
  check_groups(std::get<Signaling>(request.schedule.family).groups, shard_groups(request, machine));
  const auto [pair, size, shard_rows, kernel] = in_shards(request, machine);
  const int gpus = request.gpus;

  const StreamId s1 = program.add_stream("s1", highest_priority);  // flags go before the tiles that are left
  const BufferId shard = program.add_buffer("shard", shard_rows, pair.k, pair.dtype, Memory::symmetric);
  Gemm gemm = add_gemm_operands(program, size.m, pair.n, pair.k, pair.dtype);
  gemm.kernel = kernel;
  cut_into_shards(gemm, size, gpus);
  const auto arrived = [&, rows = shard_rows](int step) { return program.rows(gemm.a.buffer, step * rows, rows); };

  for (int step = 1; step < gpus; ++step) {
    const std::string number = std::to_string(step);
    const CounterId flag = program.add_counter({"shard " + number, false});
    program.add(s1, "pull " + number, Copy{program.whole(shard, step), arrived(step)});
    program.add(s1, "flag " + number, Signal{.counter = flag});
    gemm.waits.push_back({.tile_group = step, .counter = flag, .value = 1});
  }
  program.add(main_stream, "copy own", Copy{program.whole(shard), arrived(0)});
  program.add(main_stream, "gemm", gemm);
  Meaning meaning = meaning_of(pair, size.m, shard, gemm.b.buffer, gemm.c.buffer);
  meaning.own_rows_first = true;
  program.set_meaning(std::move(meaning));
  program.set_machine(machine.name);
}

}  // namespace weft::scenarios::families
