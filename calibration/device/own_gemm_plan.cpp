#include "calibration/device/own_gemm_plan.hpp"

#include <algorithm>
#include <iterator>
#include <vector>

#include "calibration/device/group_counts.hpp"
#include "calibration/device/on_device.hpp"
#include "calibration/device/require_hopper.hpp"
#include "calibration/device/sms_of_gpu.hpp"
#include "calibration/device/stored_rows.hpp"
#include "models/schedule/layout.hpp"

namespace weft::calibration::device {
namespace {

void* zeroed(Bytes bytes, Arena& arena) {
  void* data = arena.allocate(bytes);
  WEFT_CHECK(cudaMemset(data, 0, static_cast<std::size_t>(bytes)));
  return data;
}

/// What the groups of tiles point at, in arrays of the whole GEMM.
struct Groups {
  std::vector<OwnGemmGroup> groups;
  std::vector<std::uint64_t*> signals;
  std::vector<CounterTarget> waits;
};

/// Groups without tiles are told with the last one that has some.
Groups groups_of(OperationId id, const Gemm& gemm, const std::vector<GroupCounts>& counts,
                 const std::vector<TileEdge>& edges, const RankSignals& signals, Arena& arena) {
  auto* stored = static_cast<std::uint32_t*>(zeroed(static_cast<Bytes>(counts.size() * sizeof(std::uint32_t)), arena));
  Groups all;
  const auto add_signals = [&](OwnGemmGroup& group, int number) {
    for (const TileSignal& signal : gemm.signals)
      if (signal.tile_group == number) all.signals.push_back(signals.counter(signal.counter, signal.place));
    for (const TileEdge& edge : edges)
      if (edge.tile_group == number) all.signals.push_back(edge.counter);
    group.signals = static_cast<int>(all.signals.size()) - group.first_signal;
  };
  std::int64_t first_tile = 0;
  for (int number = 0; number < static_cast<int>(counts.size()); ++number) {
    const GroupCounts& count = counts[static_cast<std::size_t>(number)];
    if (count.tiles == 0) {
      add_signals(all.groups.back(), number);
      continue;
    }
    OwnGemmGroup group{.first_tile = first_tile,
                       .tiles = count.tiles,
                       .stored = stored + number,
                       .signals_peers = count.tells_peers,
                       .counts_tiles = count.counts_tiles};
    group.first_signal = static_cast<int>(all.signals.size());
    add_signals(group, number);
    group.first_wait = static_cast<int>(all.waits.size());
    const auto add_waits = [&](bool for_addend) {
      for (const TileWait& wait : gemm.waits)
        if (wait.tile_group == number && wait.for_addend == for_addend)
          std::ranges::copy(signals.targets(id, number, wait.counter), std::back_inserter(all.waits));
      return static_cast<int>(all.waits.size()) - group.first_wait;
    };
    group.waits_to_start = add_waits(false);
    group.waits = add_waits(true);
    first_tile += group.tiles;
    all.groups.push_back(group);
  }
  return all;
}

/// Whether peers may read what it writes, and not only have their memory back from it.
bool is_seen_by_peers(const Schedule& schedule, const Gemm& gemm) {
  const auto is_symmetric = [&](const Slice& slice) {
    return schedule.buffers[static_cast<std::size_t>(slice.buffer)].memory == Memory::symmetric;
  };
  return std::ranges::any_of(row_blocks(gemm), [&](const RowBlock& block) {
    return is_symmetric(block.c) || std::ranges::any_of(block.replicas, is_symmetric) ||
           (block.a_from && is_symmetric(block.a));
  });
}

OwnGemmMeeting meeting_of(const Schedule& schedule, OperationId id, const Gemm& gemm, const RankSignals& signals,
                          Arena& arena) {
  if (!ranks_meet(gemm)) return {};
  const bool fetches = fetches_rows(gemm);
  return {.flags = signals.flags(id),
          .left = static_cast<std::uint32_t*>(zeroed(sizeof(std::uint32_t), arena)),
          .at_end = ranks_meet_at_end(gemm),
          .fetches = fetches,
          .ends_with_stores = !fetches || is_seen_by_peers(schedule, gemm)};
}

}  // namespace

OwnGemm plan_own_gemm(const Schedule& schedule, OperationId id, int rank, const Gemm& gemm,
                      const GemmMatrices& matrices, const std::vector<TileEdge>& edges, const RankSignals& signals,
                      Arena& arena) {
  require_hopper("a GEMM with a kernel of its own");
  const MatrixSize size = size_of_block_on_rank(gemm, rank, schedule.gpus);
  const LayoutKind layout = schedule.buffers[static_cast<std::size_t>(gemm.c.buffer)].layout.kind;
  const TileGrid grid = tile_grid(*gemm.kernel, size);
  const Groups groups = groups_of(id, gemm, group_counts(schedule, id, rank), edges, signals, arena);
  const OwnGemmWork work{
      .grid = grid,
      .tiles = grid.tiles() * static_cast<std::int64_t>(matrices.blocks.size()),
      .order = gemm.order,
      .k_steps = static_cast<int>((size.k + own_tile_k - 1) / own_tile_k),
      .by_tile = layout != LayoutKind::row_major,
      .rows_in_turn = layout == LayoutKind::per_destination,
      .blocks = blocks_of_tile(layout, schedule.gpus),
      .waits_to_start =
          std::ranges::any_of(groups.groups, [](const OwnGemmGroup& group) { return group.waits_to_start > 0; }),
      .stores_give_way = stores_give_way(gemm, size.k, gemm.kernel->tile_n),
      .groups = on_device(groups.groups, arena),
      .signals = on_device(groups.signals, arena),
      .waits = on_device(groups.waits, arena),
      .iterations =
          groups.waits.empty() && !ranks_meet(gemm) ? nullptr : static_cast<std::uint64_t*>(zeroed(16, arena)),
      .limit = signals.limit(id),
      .meeting = meeting_of(schedule, id, gemm, signals, arena),
      .fetch = fetch_order(size, DataType::bf16, gemm.order, grid, gemm.max_sms > 0 ? gemm.max_sms : sms_of_gpu())};
  return OwnGemm(size, matrices.blocks, matrices.b, *gemm.kernel, gemm.max_sms, work, arena);
}

}  // namespace weft::calibration::device
