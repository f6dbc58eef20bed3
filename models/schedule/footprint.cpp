#include "models/schedule/footprint.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>

#include "models/schedule/facts.hpp"
#include "models/schedule/layout.hpp"

namespace weft {
namespace {

/// Rows and columns of `slice`, counted from its corner; shard rows and those that differ by rank stay whole.
Slice part_of(const Slice& slice, std::int64_t first_row, std::int64_t rows, std::int64_t first_column,
              std::int64_t columns) {
  Slice part = slice;
  if (auto* range = std::get_if<RowRange>(&part.rows)) *range = {range->first + first_row, rows};
  part.first_column += first_column;
  part.columns = columns;
  return part;
}

/// First and last + 1 of the elements that tiles cover along one dimension.
struct Extent {
  std::int64_t first = std::numeric_limits<std::int64_t>::max(), last = 0;
  std::int64_t count() const { return last - first; }
  void cover(std::int64_t tile, std::int64_t tiles, std::int64_t tile_size, std::int64_t size) {
    first = std::min(first, tile * tile_size);
    last = std::max(last, std::min((tile + tiles) * tile_size, size));
  }
};

/// b, and a of the row blocks whose rows are there.
std::vector<Slice> operands_of(const Gemm& gemm) {
  std::vector<Slice> operands{gemm.b};
  if (!gemm.a_from) operands.insert(operands.begin(), gemm.a);
  for (const RowBlock& block : gemm.earlier)
    if (!block.a_from) operands.push_back(block.a);
  return operands;
}

/// From where to where rows of a are fetched, of the tiles that have `count` rows from `first` on.
void add_fetch(Footprint& footprint, const RowBlock& block, std::int64_t first, std::int64_t count) {
  if (!block.a_from) return;
  footprint.reads.push_back(part_of(*block.a_from, first, count, 0, block.a.columns));
  footprint.writes.push_back(part_of(block.a, first, count, 0, block.a.columns));
}

Footprint of_tile_group(const Schedule& schedule, const Gemm& gemm, int tile_group) {
  if (tile_group == tile_group_count(gemm)) return {operands_of(gemm), {}};
  const GemmKernel& kernel = gemm.kernel.value();
  const MatrixSize size = size_of_block(gemm, schedule.gpus);
  const TileGrid grid = tile_grid(kernel, size);
  const auto group = gemm.tile_groups.begin() + tile_group;
  const auto [number, first] = place_in_blocks(std::accumulate(gemm.tile_groups.begin(), group, std::int64_t{0}), grid);
  const RowBlock block = row_blocks(gemm)[number];
  const bool is_row_major = schedule.buffers[block.c.buffer].layout.kind == LayoutKind::row_major;

  Footprint footprint;
  Extent m, n;
  for (const TileRectangle& tiles : tile_rectangles(gemm.order, grid, first, *group)) {
    Extent rows, columns;
    rows.cover(tiles.first_row, tiles.rows, kernel.tile_m, size.m);
    columns.cover(tiles.first_column, tiles.columns, kernel.tile_n, size.n);
    m.cover(tiles.first_row, tiles.rows, kernel.tile_m, size.m);
    n.cover(tiles.first_column, tiles.columns, kernel.tile_n, size.n);
    const auto tiles_of = [&](const Slice& matrix) {
      return part_of(matrix, rows.first, rows.count(), columns.first, columns.count());
    };
    if (!is_row_major) continue;
    if (block.addend) footprint.reads.push_back(tiles_of(*block.addend));
    footprint.writes.push_back(tiles_of(block.c));
    for (const Slice& replica : block.replicas) footprint.writes.push_back(tiles_of(replica));
  }
  if (!is_row_major) {
    footprint.writes = {part_of(block.c, first * kernel.tile_m, *group * kernel.tile_m, 0, block.c.columns)};
    if (block.addend) footprint.reads = footprint.writes;
  }
  add_fetch(footprint, block, m.first, m.count());
  if (TileGroups{.waits = gemm.waits, .meets = ranks_meet(gemm)}.reads_operands_before_waits()) return footprint;
  footprint.reads.push_back(part_of(block.a, m.first, m.count(), 0, size.k));
  footprint.reads.push_back(part_of(gemm.b, n.first, n.count(), 0, size.k));
  return footprint;
}

Footprint of(const Schedule& schedule, const Gemm& gemm) {
  Footprint footprint{operands_of(gemm), {}};
  const std::int64_t rows = size_of_block(gemm, schedule.gpus).m;
  for (const RowBlock& block : row_blocks(gemm)) {
    add_fetch(footprint, block, 0, rows);
    footprint.writes.push_back(block.c);
    if (block.addend) footprint.reads.push_back(*block.addend);
    footprint.writes.insert(footprint.writes.end(), block.replicas.begin(), block.replicas.end());
  }
  return footprint;
}
/// Groups without rows read no matrix of b.
Footprint of(const Schedule& schedule, const GroupedGemm& gemm) {
  Footprint footprint{{gemm.a}, {gemm.c}};
  const std::int64_t n = row_count(gemm.b.rows, schedule.gpus) / static_cast<std::int64_t>(gemm.group_rows.size());
  for (std::size_t group = 0; group < gemm.group_rows.size(); ++group)
    if (gemm.group_rows[group] > 0)
      footprint.reads.push_back(part_of(gemm.b, static_cast<std::int64_t>(group) * n, n, 0, gemm.b.columns));
  return footprint;
}
Footprint of(const Schedule& schedule, const AllReduceNorm& work) {
  const auto own_rows = [](Slice slice, int place) {
    const auto& all = std::get<RowRange>(slice.rows);
    slice.rows = ShardRows{.first = all.first, .of_rows = all.count};
    slice.place = place;
    return slice;
  };
  Footprint footprint{{own_rows(work.residual, 0)}, {own_rows(work.residual, 0)}};
  for (int place = 0; place < schedule.gpus; ++place) {
    footprint.reads.push_back(own_rows(work.partial, place));
    footprint.writes.push_back(own_rows(work.normed, place));
  }
  return footprint;
}
Footprint of(const Schedule&, const Collective& work) { return {{work.input}, {work.output}}; }
Footprint of(const Schedule&, const GroupedExchange& work) {
  Footprint footprint{{work.input}, {work.output}};
  if (work.input_log_sum_exp) footprint.reads.push_back(*work.input_log_sum_exp);
  if (work.output_log_sum_exp) footprint.writes.push_back(*work.output_log_sum_exp);
  if (work.kind == GroupedKind::reduce)
    footprint.reads.insert(footprint.reads.end(), footprint.writes.begin(), footprint.writes.end());
  return footprint;
}
Footprint of(const Schedule&, const Copy& work) { return {{work.source}, {work.destination}}; }
Footprint of(const Schedule&, const MemoryBound& work) { return {work.reads, work.writes}; }
Footprint of(const Schedule&, const Attention& work) {
  Footprint footprint{{work.qkv}, {work.output}};
  if (work.cached) footprint.reads.push_back(*work.cached);
  if (work.prefix > 0) {  // keys and values of the earlier tokens, in the rows before
    const std::int64_t head_columns = work.head_dim;
    footprint.reads.push_back(
        part_of(work.qkv, -work.prefix, work.prefix, work.heads * head_columns, 2 * work.kv_heads * head_columns));
  }
  return footprint;
}
Footprint of(const Schedule&, const PartialAttention& work) {
  return {{work.queries, work.keys_values}, {work.output, work.log_sum_exp}};
}
Footprint of(const Schedule&, const Signal&) { return {}; }
Footprint of(const Schedule&, const Wait&) { return {}; }
Footprint of(const Schedule&, const Barrier&) { return {}; }
Footprint of(const Schedule&, const Delay&) { return {}; }

bool ranges_overlap(std::int64_t first_a, std::int64_t count_a, std::int64_t first_b, std::int64_t count_b) {
  return count_a > 0 && count_b > 0 && first_a < first_b + count_b && first_b < first_a + count_a;
}

}  // namespace

Footprint footprint(const Schedule& schedule, const Operation& operation, int tile_group) {
  return match(
      operation.work,
      [&](const Gemm& gemm) {
        return tile_group >= 0 && !gemm.tile_groups.empty() ? of_tile_group(schedule, gemm, tile_group)
                                                            : of(schedule, gemm);
      },
      [&](const OneOf<GroupedGemm, Collective, AllReduceNorm, GroupedExchange, Copy, MemoryBound, Attention,
                      PartialAttention, Signal, Wait, Barrier, Delay> auto& work) { return of(schedule, work); });
}

Rectangle rectangle_of(const Slice& slice, int rank, int gpus) {
  return {((rank + slice.place) % gpus + gpus) % gpus, slice.buffer,       first_row(slice.rows, rank, gpus),
          row_count(slice.rows, rank, gpus),           slice.first_column, slice.columns};
}

bool overlap(const Rectangle& a, const Rectangle& b) {
  return a.rank == b.rank && a.buffer == b.buffer && ranges_overlap(a.first_row, a.rows, b.first_row, b.rows) &&
         ranges_overlap(a.first_column, a.columns, b.first_column, b.columns);
}

int tile_group_count(const Gemm& gemm) {
  return gemm.tile_groups.empty() ? 1 : static_cast<int>(gemm.tile_groups.size());
}

}  // namespace weft
