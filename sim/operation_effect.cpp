#include "sim/operation_effect.hpp"

#include <algorithm>
#include <numeric>

#include "models/input_error.hpp"
#include "models/layout.hpp"

namespace weft::sim {
namespace {

using Matrices = std::vector<IntegerMatrix>;

void add_rows(IntegerMatrix& into, const IntegerMatrix& from, std::int64_t first_row) {
  for (std::int64_t row = 0; row < into.rows; ++row)
    std::transform(into.row(row), into.row(row) + into.columns, from.row(first_row + row), into.row(row), sum_of);
}

IntegerMatrix rows_of(const IntegerMatrix& from, std::int64_t first, std::int64_t count) {
  IntegerMatrix part(count, from.columns);
  std::copy_n(from.row(first), count * from.columns, part.values.data());
  return part;
}

IntegerMatrix stacked(const Matrices& blocks) {
  IntegerMatrix all(0, blocks.front().columns);
  for (const IntegerMatrix& block : blocks) {
    all.rows += block.rows;
    all.values.insert(all.values.end(), block.values.begin(), block.values.end());
  }
  return all;
}

// --- GEMM: a tile at a time ----------------------------------------------------------------------------------------

/// Rows and columns of a GEMM's result.
struct TileExtent {
  std::int64_t first_row = 0, rows = 0, first_column = 0, columns = 0;
};

std::vector<TileExtent> tiles_of(const Gemm& gemm, const MatrixSize& size, int tile_group) {
  if (!gemm.kernel) return {{0, size.m, 0, size.n}};
  const TileGrid grid = tile_grid(*gemm.kernel, size);
  std::int64_t first = 0, count = grid.tiles();
  if (!gemm.tile_groups.empty()) {
    const auto group = gemm.tile_groups.begin() + tile_group;
    first = std::accumulate(gemm.tile_groups.begin(), group, std::int64_t{0});
    count = *group;
  }
  std::vector<TileExtent> tiles;
  for (std::int64_t index = first; index < first + count; ++index) {
    const Tile tile = tile_at(gemm.order, grid, index);
    const std::int64_t row = tile.row * gemm.kernel->tile_m, column = tile.column * gemm.kernel->tile_n;
    tiles.push_back({row, std::min<std::int64_t>(gemm.kernel->tile_m, size.m - row), column,
                     std::min<std::int64_t>(gemm.kernel->tile_n, size.n - column)});
  }
  return tiles;
}

Rectangle rows_of(Rectangle whole, std::int64_t first, std::int64_t count) {
  whole.first_row += first;
  whole.rows = count;
  return whole;
}

/// Where one row of a tile is stored: in every layout it is contiguous.
Rectangle stored_row(const Schedule& schedule, const Rectangle& c, std::int64_t row, const TileExtent& tile) {
  const Layout& layout = schedule.buffers[static_cast<std::size_t>(c.buffer)].layout;
  const Element place = storage_of(layout, schedule.gpus, {row, tile.first_column});
  return {c.rank, c.buffer, c.first_row + place.row, 1, c.first_column + place.column, tile.columns};
}

Matrices tile_result(const Matrices& inputs, bool accumulate) {
  const IntegerMatrix tile = product(inputs[0], inputs[1]);
  Matrices rows;
  for (std::int64_t row = 0; row < tile.rows; ++row) {
    rows.push_back(rows_of(tile, row, 1));
    if (accumulate) add_rows(rows.back(), inputs[static_cast<std::size_t>(row) + 2], 0);
  }
  return rows;
}

std::vector<Effect> effects_of(const Schedule& schedule, const Gemm& gemm, int rank, int tile_group) {
  const auto on_rank = [&](const Slice& slice) { return rectangle_of(slice, rank, schedule.gpus); };
  const Rectangle a = on_rank(gemm.a), b = on_rank(gemm.b), c = on_rank(gemm.c);
  std::vector<Effect> all;
  for (const TileExtent& tile : tiles_of(gemm, size_of(gemm, schedule.gpus), tile_group)) {
    Effect effect;
    effect.reads = {rows_of(a, tile.first_row, tile.rows), rows_of(b, tile.first_column, tile.columns)};
    for (std::int64_t row = 0; row < tile.rows; ++row)
      effect.writes.push_back(stored_row(schedule, c, tile.first_row + row, tile));
    if (gemm.accumulate) effect.reads.insert(effect.reads.end(), effect.writes.begin(), effect.writes.end());
    effect.result = [accumulate = gemm.accumulate](const Matrices& inputs) { return tile_result(inputs, accumulate); };
    all.push_back(std::move(effect));
  }
  return all;
}

// --- Copies and memory-bound kernels -------------------------------------------------------------------------------

std::vector<Effect> effects_of(const Schedule& schedule, const Copy& copy, int rank) {
  Effect effect;
  effect.reads = {rectangle_of(copy.source, rank, schedule.gpus)};
  effect.writes = {rectangle_of(copy.destination, rank, schedule.gpus)};
  effect.result = [](const Matrices& inputs) { return inputs; };
  return {effect};
}

/// Row blocks of the first input, as many as `rows` go into it.
IntegerMatrix sum_of_blocks(const IntegerMatrix& input, std::int64_t rows) {
  IntegerMatrix total(rows, input.columns, 0);
  for (std::int64_t first = 0; first < input.rows; first += rows) add_rows(total, input, first);
  return total;
}

IntegerMatrix sum_of_all(const Matrices& inputs) {
  IntegerMatrix total = inputs.front();
  for (std::size_t i = 1; i < inputs.size(); ++i) add_rows(total, inputs[i], 0);
  return total;
}

/// The elements of all inputs, one after the other, cut into the shapes of what is written.
Matrices moved(const Matrices& inputs, const std::vector<Rectangle>& writes) {
  std::vector<std::int64_t> elements;
  for (const IntegerMatrix& input : inputs) elements.insert(elements.end(), input.values.begin(), input.values.end());
  auto next = elements.cbegin();
  Matrices outputs;
  for (const Rectangle& write : writes) {
    IntegerMatrix& output = outputs.emplace_back(write.rows, write.columns);
    std::copy_n(next, output.values.size(), output.values.begin());
    next += static_cast<std::ptrdiff_t>(output.values.size());
  }
  return outputs;
}

bool has_integer_meaning(MemoryKernel kernel) {
  switch (kernel) {
    case MemoryKernel::fill:
    case MemoryKernel::add:
    case MemoryKernel::partial_sum:
    case MemoryKernel::gather:
    case MemoryKernel::scatter:
      return true;
    case MemoryKernel::rms_norm:
    case MemoryKernel::add_rms_norm:
    case MemoryKernel::swiglu:
    case MemoryKernel::rotary:
      break;
  }
  return false;
}

Matrices memory_kernel_result(MemoryKernel kernel, const Matrices& inputs, const std::vector<Rectangle>& writes) {
  Matrices outputs;
  switch (kernel) {
    case MemoryKernel::fill:
      for (const Rectangle& write : writes) outputs.emplace_back(write.rows, write.columns, 0);
      return outputs;
    case MemoryKernel::add:
      return {sum_of_all(inputs)};
    case MemoryKernel::partial_sum:
      return {sum_of_blocks(inputs.front(), writes.front().rows)};
    default:
      return moved(inputs, writes);
  }
}

std::vector<Effect> effects_of(const Schedule& schedule, const MemoryBound& work, int rank) {
  Effect effect;
  for (const Slice& slice : work.reads) effect.reads.push_back(rectangle_of(slice, rank, schedule.gpus));
  for (const Slice& slice : work.writes) effect.writes.push_back(rectangle_of(slice, rank, schedule.gpus));
  effect.result = [kernel = work.kernel, writes = effect.writes](const Matrices& inputs) {
    return memory_kernel_result(kernel, inputs, writes);
  };
  return {effect};
}

}  // namespace

void require_integer_meaning(const Schedule& schedule) {
  for (std::size_t i = 0; i < schedule.operations.size(); ++i) {
    const Work& work = schedule.operations[i].work;
    const auto refuse = [&](std::string_view what) {
      throw InputError("operations[" + std::to_string(i) + "]." + std::string(kind_of(work)),
                       "expected an operation that means something in integers, got " + std::string(what));
    };
    if (std::holds_alternative<Attention>(work)) refuse("attention");
    const auto* kernel = std::get_if<MemoryBound>(&work);
    if (kernel == nullptr) continue;
    if (!has_integer_meaning(kernel->kernel)) refuse(name_of(kernel->kernel));
    const bool sums = kernel->kernel == MemoryKernel::add || kernel->kernel == MemoryKernel::partial_sum;
    if (sums && kernel->writes.size() != 1) refuse(std::to_string(kernel->writes.size()) + " slices for one sum");
  }
}

std::vector<Effect> effects(const Schedule& schedule, const Operation& operation, int rank, int tile_group) {
  return std::visit(Overloaded{[&](const Gemm& gemm) { return effects_of(schedule, gemm, rank, tile_group); },
                               [&](const Copy& copy) { return effects_of(schedule, copy, rank); },
                               [&](const MemoryBound& work) { return effects_of(schedule, work, rank); },
                               [](const auto&) { return std::vector<Effect>{}; }},
                    operation.work);
}

IntegerMatrix collective_result(CollectiveKind kind, const Matrices& inputs, int rank) {
  const auto ranks = static_cast<std::int64_t>(inputs.size());
  const std::int64_t block = inputs.front().rows / ranks;
  switch (kind) {
    case CollectiveKind::all_reduce:
      break;
    case CollectiveKind::all_gather:
      return stacked(inputs);
    case CollectiveKind::reduce_scatter:
      return rows_of(sum_of_all(inputs), rank * block, block);
    case CollectiveKind::all_to_all: {
      Matrices received;
      for (const IntegerMatrix& input : inputs) received.push_back(rows_of(input, rank * block, block));
      return stacked(received);
    }
  }
  return sum_of_all(inputs);
}

IntegerMatrix product(const IntegerMatrix& a, const IntegerMatrix& b) {
  IntegerMatrix c(a.rows, b.rows);
  std::vector<bool> b_is_defined;
  for (std::int64_t column = 0; column < c.columns; ++column) b_is_defined.push_back(b.row_is_defined(column));
  for (std::int64_t row = 0; row < c.rows; ++row) {
    if (!a.row_is_defined(row)) continue;
    for (std::int64_t column = 0; column < c.columns; ++column)
      if (b_is_defined[static_cast<std::size_t>(column)])
        c.at(row, column) = std::inner_product(a.row(row), a.row(row) + a.columns, b.row(column), std::int64_t{0});
  }
  return c;
}

}  // namespace weft::sim
