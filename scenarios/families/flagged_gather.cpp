// signaling of all_gather+gemm: one GEMM that is never cut, and begins with the own rows. Copy engines pull the other
// shards in ring order, a flag after each; tiles wait for the flag of their rows (flagged_shards.hpp).
#include "models/base/division.hpp"
#include "models/base/input_error.hpp"
#include "models/cost/gemm_model.hpp"
#include "models/schedule/layout.hpp"
#include "scenarios/families/families.hpp"
#include "scenarios/families/flagged_shards.hpp"
#include "scenarios/families/operands.hpp"
#include "scenarios/families/wave_groups.hpp"

namespace weft::scenarios::families {
namespace {

/// The GEMM over all rows, whose bands of whole tiles are the shards.
struct ShardedGemm {
  const PairWorkload& pair;
  MatrixSize size;
  GemmKernel kernel;
};

ShardedGemm in_shards(const Case& request, const Machine& machine) {
  const PairWorkload& pair = pair_of(request, {PairOp::all_gather_gemm});
  const std::int64_t rows = rows_of_busiest(pair, std::int64_t{request.gpus} * tile_extent, "gpus x a tile's rows");
  const std::optional<SignalingTiles> chosen = std::get<Signaling>(request.schedule.family).scheduler;
  const SignalingTiles scheduler = chosen.value_or(tile_schedulers(machine).back());  // no collective needs an SM
  return {pair, {rows, pair.n, pair.k}, tiles_of_flagged(pair, {request.gpus, 1}, rows, scheduler, machine)};
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
  return {std::vector<int>(static_cast<std::size_t>(request.gpus), static_cast<int>(divided_up(tiles, wave)))};
}

void add_flagged_gather(Program& program, const Case& request, const Machine& machine) {
  check_groups(std::get<Signaling>(request.schedule.family).groups, shard_groups(request, machine));
  const auto [pair, size, kernel] = in_shards(request, machine);
  add_flagged_gemm(program, pair, {request.gpus, 1}, size.m, kernel, 0);
  program.set_machine(machine.name);
}

}  // namespace weft::scenarios::families
