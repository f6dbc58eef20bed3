#include "sim/band_traffic.hpp"

#include <algorithm>
#include <vector>

#include "models/base/division.hpp"
#include "models/cost/gemm_model.hpp"
#include "models/cost/l2_reuse.hpp"
#include "models/schedule/footprint.hpp"
#include "models/schedule/layout.hpp"
#include "models/schedule/own_kernels.hpp"

namespace weft::sim {
namespace {

/// What wait for tile groups of `gemm`, and what follows them: most of it runs while the GEMM does.
double bytes_written_beside(const Schedule& schedule, OperationId gemm) {
  std::vector<bool> is_beside(schedule.operations.size()), was_last_of_stream(schedule.streams.size());
  double bytes = 0;
  for (std::size_t id = static_cast<std::size_t>(gemm) + 1; id < is_beside.size(); ++id) {
    const Operation& operation = schedule.operations[id];
    const auto stream = static_cast<std::size_t>(operation.stream);
    is_beside[id] = was_last_of_stream[stream] || std::ranges::any_of(operation.after, [&](const After& after) {
                      return after.operation == gemm ? after.point == Point::tile_group
                                                     : bool{is_beside[static_cast<std::size_t>(after.operation)]};
                    });
    was_last_of_stream[stream] = is_beside[id];
    if (!is_beside[id]) continue;
    for (const Slice& slice : footprint(schedule, operation).writes)
      bytes += static_cast<double>(bytes_of(slice, schedule));
  }
  return bytes;
}

/// How many of `blocks` come one after the other, as far as what they read of b goes: all that wait for their rows,
/// else those of a wave of tiles as one.
double blocks_apart(const Gemm& gemm, std::int64_t blocks, const TileGrid& block, int sms) {
  const auto all = static_cast<double>(blocks);
  if (fetches_rows(gemm)) return all;
  return std::max(1.0, all * std::min(1.0, static_cast<double>(block.tiles()) / sms));
}

/// Of tiles in this order.
double bands_of(const TileOrder& order, const TileGrid& grid) {
  return static_cast<double>(divided_up(grid.rows, band_rows(order, grid)));
}

double bytes_read_again(const Schedule& schedule, OperationId id, const Gemm& gemm, const Machine& machine) {
  if (!gemm.kernel || !runs_own_kernel(gemm)) return 0;
  const MatrixSize size = size_of_block(gemm, schedule.gpus);
  const TileGrid grid = tile_grid(*gemm.kernel, size);
  const auto blocks = 1 + static_cast<std::int64_t>(gemm.earlier.size());
  const int sms = persistent_ctas(machine.gpu, *gemm.kernel);
  const double reads = blocks_apart(gemm, blocks, grid, sms) * bands_of(gemm.order, grid);
  const double usual_reads = bands_of(own_order, {blocks * grid.rows, grid.columns});
  const auto bytes_each = static_cast<double>(bytes_of(schedule.buffers[gemm.a.buffer].dtype));
  const auto b_bytes = static_cast<double>(bytes_of(gemm.b, schedule));
  const double rows_bytes = static_cast<double>(blocks * size.m * (size.k + size.n)) * bytes_each;  // of a and c
  const auto again = [&](double times, double beside_bytes) {
    return (times - 1) * b_bytes * l2_miss_share(machine.gpu, b_bytes + (rows_bytes + beside_bytes) / times);
  };
  return std::max(0.0, again(reads, bytes_written_beside(schedule, id)) - again(usual_reads, 0));
}

}  // namespace

double bytes_read_again(const Schedule& schedule, OperationId id, const Machine& machine) {
  return match(
      schedule.operations[static_cast<std::size_t>(id)].work,
      [&](const Gemm& gemm) { return bytes_read_again(schedule, id, gemm, machine); },
      [](const OneOf<GroupedGemm, Collective, AllReduceNorm, GroupedExchange, Copy, MemoryBound, Attention,
                     PartialAttention, Signal, Wait, Barrier, Delay> auto&) { return 0.0; });
}

}  // namespace weft::sim
