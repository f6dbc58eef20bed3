#include "models/check/gemm_validation.hpp"

#include <numeric>
#include <tuple>

#include "models/schedule/footprint.hpp"
#include "models/schedule/kernel_sizes.hpp"
#include "models/schedule/layout.hpp"

namespace weft::schedule_check {
namespace {

void check_tile_ordered_output(const Check& here, const Gemm& gemm, const MatrixSize& size) {
  const Buffer& buffer = here.buffer(gemm.c);
  const Layout& layout = buffer.layout;
  here.require(gemm.kernel.has_value(), "kernel", [] { return "an explicit kernel, since c is tile-ordered"; });
  here.require(layout.rows == size.m && layout.columns == size.n, "c",
               [&] { return "a layout of " + shape(size.m, size.n) + ", got " + shape(layout.rows, layout.columns); });
  here.require(layout.tile_rows == gemm.kernel->tile_m && layout.tile_columns == gemm.kernel->tile_n, "kernel", [&] {
    return "the tiles of c's layout, " + shape(layout.tile_rows, layout.tile_columns) + ", got " +
           shape(gemm.kernel->tile_m, gemm.kernel->tile_n);
  });
  here.require(layout.order == gemm.order, "order", [] { return "the tile order of c's layout"; });
  here.has_shape("c", gemm.c, buffer.rows, buffer.columns);
  here.require(layout.kind == LayoutKind::tile_ordered || layout.group_tiles == gemm.tile_groups, "tile_groups",
               [] { return "the groups of c's layout"; });
}

RowBlock block_of_group(const Gemm& gemm, int tile_group, const Schedule& schedule) {
  const auto group = gemm.tile_groups.begin() + tile_group;
  const TileGrid grid = tile_grid(*gemm.kernel, size_of_block(gemm, schedule.gpus));
  return row_blocks(
      gemm)[place_in_blocks(std::accumulate(gemm.tile_groups.begin(), group, std::int64_t{0}), grid).block];
}

void check_tile_groups(const Check& here, const Gemm& gemm, const MatrixSize& size) {
  const bool has_groups = !gemm.tile_groups.empty() || !gemm.signals.empty() || !gemm.waits.empty();
  here.require(gemm.kernel || !has_groups, "kernel", [] { return "an explicit kernel, since tile groups are used"; });
  here.at_least("order.swizzle", gemm.order.swizzle, 1);
  here.at_most("tile_groups", gemm.tile_groups.size(), max_groups);
  here.at_most("signals", gemm.signals.size(), max_groups);
  here.at_most("waits", gemm.waits.size(), max_groups);
  if (gemm.kernel) check_kernel(here.at("kernel"), *gemm.kernel);
  if (!gemm.tile_groups.empty()) {
    const std::int64_t tiles_of_block = tile_grid(*gemm.kernel, size).tiles();
    check_groups(here, "tile_groups", gemm.tile_groups,
                 tiles_of_block * static_cast<std::int64_t>(1 + gemm.earlier.size()));
    std::int64_t first = 0;
    for (const std::int64_t tiles : gemm.tile_groups) {
      here.require(first % tiles_of_block + tiles <= tiles_of_block, "tile_groups",
                   [&] { return "groups of tiles of one block, " + text(tiles_of_block) + " of each"; });
      first += tiles;
    }
  }
  const auto check_group = [&](const char* key, int group) {
    here.require(group >= 0 && group < tile_group_count(gemm), key,
                 [&] { return "a tile group below " + text(tile_group_count(gemm)) + ", got " + text(group); });
  };
  for (const TileSignal& signal : gemm.signals) {
    check_group("signals", signal.tile_group);
    here.id("signals", signal.counter, here.schedule().counters);
    here.place("signals", signal.place);
  }
  for (const TileWait& wait : gemm.waits) {
    check_group("waits", wait.tile_group);
    here.id("waits", wait.counter, here.schedule().counters);
    here.within("waits", wait.value, 1, max_total);
    const Counter& counter = here.schedule().counters[static_cast<std::size_t>(wait.counter)];
    here.require(!counter.reset_by_wait, "waits", [&] {
      return "a counter that no wait resets, since tiles only look at it, got \"" + counter.name + "\"";
    });
    here.require(!wait.for_addend || !gemm.tile_groups.empty(), "tile_groups",
                 [] { return "tile groups, since some wait for an addend"; });
    here.require(wait.for_addend || gemm.tile_groups.empty() ||
                     !block_of_group(gemm, wait.tile_group, here.schedule()).a_from.has_value(),
                 "waits", [] { return "none but for an addend where rows of a are fetched"; });
    here.require(!wait.for_addend || block_of_group(gemm, wait.tile_group, here.schedule()).addend.has_value(), "waits",
                 [] { return "none for an addend where nothing is added"; });
  }
}

/// What is added and where it is stored besides c, of a block of `size`.
void check_sums(const Check& here, const RowBlock& block, const MatrixSize& size) {
  if (!block.addend) return;
  here.slice_of_each_rank("addend", *block.addend);
  here.require(block.addend->place == 0, "addend",
               [&] { return "rows of the own rank, got place " + text(block.addend->place); });
  if (*block.addend == block.c) return;
  here.require(here.is_row_major(*block.addend) && here.is_row_major(block.c), "addend",
               [] { return "row-major buffers where it is not c itself"; });
  here.has_shape("addend", *block.addend, size.m, size.n);
  here.same_rows_on_each_rank("addend", block.a, *block.addend);
  here.same_type("addend", block.c, *block.addend);
}

void check_replicas(const Check& here, const Gemm& gemm, const RowBlock& block, const MatrixSize& size) {
  const char* const key = "replicas";
  if (block.replicas.empty()) return;
  here.require(gemm.kernel.has_value(), "kernel", [] { return "an explicit kernel, since c has replicas"; });
  here.require(here.is_row_major(block.c) && !differ_by_rank(block.c.rows), "c",
               [] { return "the same rows of a row-major buffer on every rank, since c has replicas"; });
  here.at_most(key, block.replicas.size(), max_groups);
  for (const Slice& replica : block.replicas) {
    here.slice(key, replica);
    here.require(here.is_row_major(replica), key, [] { return "row-major buffers"; });
    here.has_shape(key, replica, size.m, size.n);
    here.same_type(key, block.c, replica);
  }
}

void check_fetched_rows(const Check& here, const Gemm& gemm, const RowBlock& block, const MatrixSize& size) {
  const char* const key = "a_from";
  if (!block.a_from) return;
  here.require(ranks_meet_at_end(gemm), "meets", [] { return "begin_and_end, since rows of a are fetched"; });
  here.require(!differ_by_rank(block.a.rows), "a",
               [] { return "the same rows on every rank, since they are fetched"; });
  here.slice(key, *block.a_from);
  here.require(here.is_row_major(*block.a_from), key, [] { return "a row-major buffer"; });
  here.has_shape(key, *block.a_from, size.m, size.k);
  here.same_type(key, block.a, *block.a_from);
}

/// Groups of tiles say what comes behind the meeting.
void check_meeting(const Check& here, const Gemm& gemm) {
  if (!ranks_meet(gemm)) return;
  here.require(gemm.kernel.has_value(), "kernel", [] { return "an explicit kernel, since the ranks meet"; });
  here.require(!gemm.tile_groups.empty(), "tile_groups", [] { return "tile groups, since the ranks meet"; });
}

void check_earlier_blocks(const Check& here, const Gemm& gemm, const MatrixSize& size) {
  if (gemm.earlier.empty()) return;
  here.at_most("earlier", gemm.earlier.size(), max_groups);
  here.require(gemm.kernel.has_value(), "kernel", [] { return "an explicit kernel, since there are earlier blocks"; });
  here.require(here.is_row_major(gemm.c) && !differ_by_rank(gemm.a.rows), "c",
               [] { return "a row-major buffer, and as many rows on every rank, since there are earlier blocks"; });
  here.require(size.m % gemm.kernel->tile_m == 0, "a",
               [&] { return "blocks of whole tiles of " + text(gemm.kernel->tile_m) + " rows, got " + text(size.m); });
  for (std::size_t i = 0; i < gemm.earlier.size(); ++i) {
    const Check block_here = here.at("earlier[" + std::to_string(i) + "]");
    const RowBlock& block = gemm.earlier[i];
    for (const auto& [key, slice, columns] : {std::tuple{"a", &block.a, size.k}, {"c", &block.c, size.n}}) {
      block_here.slice(key, *slice);
      block_here.require(block_here.is_row_major(*slice) && !differ_by_rank(slice->rows), key,
                         [] { return "the same rows of a row-major buffer on every rank"; });
      block_here.has_shape(key, *slice, size.m, columns);
      block_here.same_type(key, key[0] == 'a' ? gemm.a : gemm.c, *slice);
    }
    check_sums(block_here, block, size);
    check_replicas(block_here, gemm, block, size);
    check_fetched_rows(block_here, gemm, block, size);
  }
}

}  // namespace

void check_kernel(const Check& here, const GemmKernel& kernel) {
  for (const KernelSize& size : kernel_sizes) here.within(size.key, kernel.*size.size, 1, size.most);
}

void check(const Check& here, const Gemm& gemm) {
  here.slice_of_each_rank("a", gemm.a);
  here.slice("b", gemm.b);
  here.slice_of_each_rank("c", gemm.c);
  here.require(here.is_row_major(gemm.a), "a", [] { return "a row-major buffer"; });
  here.require(here.is_row_major(gemm.b), "b", [] { return "a row-major buffer"; });
  here.require(gemm.b.columns == gemm.a.columns, "b",
               [&] { return text(gemm.a.columns) + " columns as a has, got " + text(gemm.b.columns); });
  here.same_type("b", gemm.a, gemm.b);
  const DataType in = here.buffer(gemm.a).dtype, out = here.buffer(gemm.c).dtype;
  here.require(in == DataType::fp8 || out == in || out == DataType::fp32, "c",
               [&] { return std::string(name_of(in)) + " or fp32, got " + std::string(name_of(out)); });
  here.at_least("max_sms", gemm.max_sms, 0);
  const MatrixSize size = size_of_block(gemm, here.schedule().gpus);
  here.require(is_size(size.m, size.n), "c",
               [&] { return "a product of 1 to 2^40 elements, got " + shape(size.m, size.n); });
  check_earlier_blocks(here, gemm, size);
  check_tile_groups(here, gemm, size);
  if (here.is_row_major(gemm.c)) {
    here.has_shape("c", gemm.c, size.m, size.n);
    here.same_rows_on_each_rank("c", gemm.a, gemm.c);
  } else {
    here.require(!differ_by_rank(gemm.c.rows), "c", [] { return "all tiles on every rank"; });
    check_tile_ordered_output(here, gemm, size);
  }
  const RowBlock last = row_blocks(gemm).back();
  check_sums(here, last, size);
  check_replicas(here, gemm, last, size);
  check_fetched_rows(here, gemm, last, size);
  check_meeting(here, gemm);
}

}  // namespace weft::schedule_check
