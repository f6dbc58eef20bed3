#include "calibration/device/group_counts.hpp"

#include "models/schedule/counters.hpp"
#include "models/schedule/layout.hpp"
#include "models/schedule/own_kernels.hpp"

namespace weft::calibration::device {
namespace {

/// Adds what the signals of group `number` say of who tells it.
void add_signals(GroupCounts& teller, const Gemm& gemm, int number, const std::vector<CounterUse>& uses) {
  for (const TileSignal& signal : gemm.signals) {
    if (signal.tile_group != number) continue;
    teller.tells_peers |= signal.place != 0;
    teller.counts_tiles &= uses[static_cast<std::size_t>(signal.counter)].signals.size() == 1;
  }
}

std::vector<GroupCounts> counts_of(const Gemm& gemm, const Schedule& schedule, int rank) {
  const TileGrid grid = tile_grid(*gemm.kernel, size_of_block_on_rank(gemm, rank, schedule.gpus));
  const std::vector<RowBlock> blocks = row_blocks(gemm);
  const std::int64_t tiles = grid.tiles() * static_cast<std::int64_t>(blocks.size());
  const std::vector<std::int64_t> tiles_of =
      gemm.tile_groups.empty() ? std::vector{tiles} : groups_of_first_tiles(gemm.tile_groups, tiles);
  if (tiles == 0) return std::vector<GroupCounts>(tiles_of.size());
  const std::vector<CounterUse> uses = counter_uses(schedule);
  std::vector<GroupCounts> counts;
  std::vector<std::size_t> told_with;
  std::int64_t first_tile = 0;
  for (const std::int64_t of_group : tiles_of) {
    const auto number = static_cast<int>(counts.size());
    if (of_group > 0) {
      const RowBlock& block = blocks[place_in_blocks(first_tile, grid).block];
      counts.push_back(
          {.tiles = of_group, .tells_peers = !block.replicas.empty() || block.c.place != 0, .counts_tiles = true});
      told_with.push_back(counts.size() - 1);
    } else {
      counts.push_back({});
      told_with.push_back(told_with.back());
    }
    add_signals(counts[told_with.back()], gemm, number, uses);
    first_tile += of_group;
  }
  for (GroupCounts& group : counts) group.counts_tiles &= !group.tells_peers;
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (const GroupCounts& teller = counts[told_with[i]]; teller.counts_tiles) counts[i].adds = teller.tiles;
  return counts;
}

}  // namespace

std::vector<GroupCounts> group_counts(const Schedule& schedule, OperationId id, int rank) {
  return match(
      schedule.operations[static_cast<std::size_t>(id)].work,
      [&](const Gemm& gemm) {
        return runs_own_kernel(gemm) ? counts_of(gemm, schedule, rank) : std::vector<GroupCounts>();
      },
      [](const OneOf<GroupedGemm, Collective, AllReduceNorm, GroupedExchange, Copy, MemoryBound, Attention,
                     PartialAttention, Signal, Wait, Barrier, Delay> auto&) { return std::vector<GroupCounts>(); });
}

}  // namespace weft::calibration::device
