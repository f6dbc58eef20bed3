#include "calibration/device/own_gemm_plan.hpp"

#include <algorithm>
#include <vector>

#include "calibration/device/on_device.hpp"
#include "calibration/device/require_hopper.hpp"
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

Groups groups_of(OperationId id, const Gemm& gemm, std::int64_t tiles, const std::vector<TileEdge>& edges,
                 const RankSignals& signals, Arena& arena) {
  std::vector<std::int64_t> tiles_of = gemm.tile_groups;
  if (tiles_of.empty()) tiles_of = {tiles};
  auto* stored =
      static_cast<std::uint32_t*>(zeroed(static_cast<Bytes>(tiles_of.size() * sizeof(std::uint32_t)), arena));
  Groups all;
  std::int64_t first_tile = 0;
  for (int number = 0; number < static_cast<int>(tiles_of.size()); ++number) {
    OwnGemmGroup group{
        .first_tile = first_tile, .tiles = tiles_of[static_cast<std::size_t>(number)], .stored = stored + number};
    group.signals_peers = !gemm.replicas.empty() || gemm.c.place != 0;
    group.first_signal = static_cast<int>(all.signals.size());
    for (const TileSignal& signal : gemm.signals)
      if (signal.tile_group == number) {
        all.signals.push_back(signals.counter(signal.counter, signal.place));
        group.signals_peers |= signal.place != 0;
      }
    for (const TileEdge& edge : edges)
      if (edge.tile_group == number) all.signals.push_back(edge.counter);
    group.signals = static_cast<int>(all.signals.size()) - group.first_signal;
    group.first_wait = static_cast<int>(all.waits.size());
    for (const TileWait& wait : gemm.waits)
      if (wait.tile_group == number) all.waits.push_back(signals.target(id, number));
    group.waits = static_cast<int>(all.waits.size()) - group.first_wait;
    first_tile += group.tiles;
    all.groups.push_back(group);
  }
  return all;
}

/// Sub-tiles and pools: how many blocks a tile's rows are cut in.
int blocks_of(LayoutKind kind, int gpus) {
  return kind == LayoutKind::sub_tile_ordered || kind == LayoutKind::per_destination ? gpus : 1;
}

}  // namespace

OwnGemm plan_own_gemm(const Schedule& schedule, OperationId id, const Gemm& gemm, const GemmMatrices& matrices,
                      const std::vector<TileEdge>& edges, const RankSignals& signals, Arena& arena) {
  require_hopper("a GEMM with a kernel of its own");
  const MatrixSize size = size_of(gemm, schedule.gpus);
  const LayoutKind layout = schedule.buffers[static_cast<std::size_t>(gemm.c.buffer)].layout.kind;
  const TileGrid grid = tile_grid(*gemm.kernel, size);
  const Groups groups = groups_of(id, gemm, grid.tiles(), edges, signals, arena);
  const OwnGemmWork work{.grid = grid,
                         .order = gemm.order,
                         .k_steps = static_cast<int>((size.k + own_tile_k - 1) / own_tile_k),
                         .by_tile = layout != LayoutKind::row_major,
                         .rows_in_turn = layout == LayoutKind::per_destination,
                         .blocks = blocks_of(layout, schedule.gpus),
                         .addend = gemm.accumulate ? matrices.c.data : nullptr,
                         .m = size.m,
                         .n = size.n,
                         .addend_stride = matrices.c.stride,
                         .groups = on_device(groups.groups, arena),
                         .signals = on_device(groups.signals, arena),
                         .waits = on_device(groups.waits, arena),
                         .iterations = groups.waits.empty() ? nullptr : static_cast<std::uint64_t*>(zeroed(16, arena)),
                         .limit = signals.limit(id)};
  OwnGemm::Operands operands{
      size, matrices.a.data, matrices.b.data, matrices.a.stride, matrices.b.stride, matrices.c.data, matrices.c.stride};
  for (const Matrix& replica : matrices.replicas) operands.replicas.push_back({replica.data, replica.stride});
  return OwnGemm(operands, *gemm.kernel, gemm.max_sms, work);
}

}  // namespace weft::calibration::device
