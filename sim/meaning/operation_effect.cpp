#include "sim/meaning/operation_effect.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "models/base/input_error.hpp"
#include "models/schedule/layout.hpp"
#include "sim/meaning/integer_kernels.hpp"

namespace weft::sim::meaning {
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

/// Those of a row block of `size` that a group has, or all.
std::vector<TileExtent> tiles_of(const Gemm& gemm, const MatrixSize& size, std::size_t block, int tile_group) {
  if (size.m == 0) return {};
  if (!gemm.kernel) return {{0, size.m, 0, size.n}};
  const TileGrid grid = tile_grid(*gemm.kernel, size);
  std::int64_t first = 0, end = grid.tiles();
  if (!gemm.tile_groups.empty()) {
    const auto group = gemm.tile_groups.begin() + tile_group;
    first = std::accumulate(gemm.tile_groups.begin(), group, std::int64_t{0}) -
            static_cast<std::int64_t>(block) * grid.tiles();
    end = std::min(end, first + *group);
  }
  std::vector<TileExtent> tiles;
  for (std::int64_t index = first; index >= 0 && index < end; ++index) {
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
Rectangle stored_row(const Schedule& schedule, const Layout& layout, const Rectangle& c, std::int64_t row,
                     const TileExtent& tile) {
  const Element place = storage_of(layout, schedule.gpus, {row, tile.first_column});
  return {c.rank, c.buffer, c.first_row + place.row, 1, c.first_column + place.column, tile.columns};
}

/// The rows of a tile in a row-major matrix.
void add_tile_rows(std::vector<Rectangle>& rows, const Rectangle& matrix, const TileExtent& tile) {
  for (std::int64_t row = 0; row < tile.rows; ++row)
    rows.push_back({matrix.rank, matrix.buffer, matrix.first_row + tile.first_row + row, 1,
                    matrix.first_column + tile.first_column, tile.columns});
}

/// A row for c, and the same for each replica.
Matrices tile_result(const Matrices& inputs, bool adds, std::size_t replicas) {
  const IntegerMatrix tile = product(inputs[0], inputs[1]);
  Matrices rows;
  for (std::int64_t row = 0; row < tile.rows; ++row) {
    rows.push_back(rows_of(tile, row, 1));
    if (adds) add_rows(rows.back(), inputs[static_cast<std::size_t>(row) + 2], 0);
  }
  const std::size_t stored = rows.size();
  for (std::size_t i = 0; i < replicas * stored; ++i) rows.push_back(rows[i]);
  return rows;
}

/// The rows of a tile, from where they are fetched to where they go.
Effect fetched(const Rectangle& from, const Rectangle& to) {
  return {.reads = {from}, .writes = {to}, .result = [](const Matrices& inputs) { return inputs; }};
}

std::vector<Effect> effects_of(const Schedule& schedule, const Gemm& gemm, int rank, int tile_group) {
  const auto on_rank = [&](const Slice& slice) { return rectangle_of(slice, rank, schedule.gpus); };
  const MatrixSize size{row_count(gemm.a.rows, rank, schedule.gpus), row_count(gemm.b.rows, schedule.gpus), 0};
  const Rectangle b = on_rank(gemm.b);
  const std::vector<RowBlock> blocks = row_blocks(gemm);
  std::vector<Effect> all;
  for (std::size_t number = 0; number < blocks.size(); ++number) {
    const RowBlock& block = blocks[number];
    const Rectangle a = on_rank(block.a_from.value_or(block.a)), c = on_rank(block.c);
    const Layout layout = of_first_rows(schedule.buffers[static_cast<std::size_t>(c.buffer)].layout, size.m);
    for (const TileExtent& tile : tiles_of(gemm, size, number, tile_group)) {
      Effect effect;
      effect.reads = {rows_of(a, tile.first_row, tile.rows), rows_of(b, tile.first_column, tile.columns)};
      for (std::int64_t row = 0; row < tile.rows; ++row)
        effect.writes.push_back(stored_row(schedule, layout, c, tile.first_row + row, tile));
      if (block.addend == block.c)
        effect.reads.insert(effect.reads.end(), effect.writes.begin(), effect.writes.end());
      else if (block.addend)
        add_tile_rows(effect.reads, on_rank(*block.addend), tile);
      for (const Slice& replica : block.replicas) add_tile_rows(effect.writes, on_rank(replica), tile);
      if (block.a_from)
        all.push_back(fetched(effect.reads.front(), rows_of(on_rank(block.a), tile.first_row, tile.rows)));
      effect.result = [adds = block.addend.has_value(), replicas = block.replicas.size()](const Matrices& inputs) {
        return tile_result(inputs, adds, replicas);
      };
      all.push_back(std::move(effect));
    }
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

/// Results of integer attention merge by addition, and so do the numbers of keys that stand for log_sum_exp.
Matrices merged_results(const Matrices& inputs) {
  Matrices merged{inputs[0], inputs[1]};
  for (std::size_t i = 2; i < inputs.size(); ++i) add_rows(merged[i % 2], inputs[i], 0);
  return merged;
}

Matrices memory_kernel_result(MemoryKernel kernel, const Matrices& inputs, const std::vector<Rectangle>& reads,
                              const std::vector<Rectangle>& writes) {
  Matrices outputs;
  switch (kernel) {
    case MemoryKernel::fill:
      for (const Rectangle& write : writes) outputs.emplace_back(write.rows, write.columns, 0);
      return outputs;
    case MemoryKernel::add:
      return {sum_of_all(inputs)};
    case MemoryKernel::partial_sum:
    case MemoryKernel::pytorch_sum:
      return {sum_of_blocks(inputs.front(), writes.front().rows)};
    case MemoryKernel::weighted_sum:
      return {sum_of_blocks(inputs.front(), writes.front().rows, &inputs.at(1))};
    case MemoryKernel::rms_norm:
      return {rms_norm(inputs.front())};
    case MemoryKernel::add_rms_norm: {  // the sum is the second output, where there is one
      const IntegerMatrix sum = sum_of_all(inputs);
      outputs = {rms_norm(sum), sum};
      outputs.resize(writes.size());
      return outputs;
    }
    case MemoryKernel::swiglu:
      return {gated(inputs.front())};
    case MemoryKernel::rotary:
      return {rotated(inputs.front(), reads.front().first_row)};
    case MemoryKernel::top_k:
      return {largest_of_rows(inputs.front(), writes.front().columns)};
    case MemoryKernel::quantize:  // small integers are exact in any type
      return {inputs.front()};
    case MemoryKernel::log_sum_exp_merge:
      return merged_results(inputs);
    case MemoryKernel::gather:
    case MemoryKernel::scatter:
      break;
  }
  return moved(inputs, writes);
}

/// The logical matrix of a whole buffer.
IntegerMatrix in_rows(IntegerMatrix storage, const Layout& layout, int gpus) {
  if (layout.kind == LayoutKind::row_major) return storage;
  IntegerMatrix matrix(layout.rows, layout.columns);
  for (std::int64_t row = 0; row < matrix.rows; ++row)
    for (std::int64_t column = 0; column < matrix.columns; ++column) {
      const Element stored = storage_of(layout, gpus, {row, column});
      matrix.at(row, column) = storage.at(stored.row, stored.column);
    }
  return matrix;
}

std::vector<Effect> effects_of(const Schedule& schedule, const MemoryBound& work, int rank) {
  Effect effect;
  for (const Slice& slice : work.reads) effect.reads.push_back(rectangle_of(slice, rank, schedule.gpus));
  for (const Slice& slice : work.writes) effect.writes.push_back(rectangle_of(slice, rank, schedule.gpus));
  std::vector<Layout> layouts;
  for (const Slice& slice : work.reads)
    layouts.push_back(schedule.buffers[static_cast<std::size_t>(slice.buffer)].layout);
  effect.result = [kernel = work.kernel, reads = effect.reads, writes = effect.writes, layouts,
                   gpus = schedule.gpus](Matrices inputs) {
    if (kernel == MemoryKernel::rms_norm || kernel == MemoryKernel::add_rms_norm)
      for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i] = in_rows(std::move(inputs[i]), layouts[i], gpus);
    return memory_kernel_result(kernel, inputs, reads, writes);
  };
  return {effect};
}

// --- Kernels of transformer layers ---------------------------------------------------------------------------------

/// Rows of keys and values, with undefined queries before them.
IntegerMatrix keys_alone(const IntegerMatrix& keys_values, std::int64_t columns, std::int64_t query_columns) {
  IntegerMatrix rows(keys_values.rows, columns);
  for (std::int64_t row = 0; row < rows.rows; ++row)
    std::copy_n(keys_values.row(row), keys_values.columns, rows.row(row) + query_columns);
  return rows;
}

std::vector<Effect> effects_of(const Schedule& schedule, const Attention& attention, int rank) {
  Effect effect;
  effect.reads = {rectangle_of(attention.qkv, rank, schedule.gpus)};
  const std::int64_t query_columns = std::int64_t{attention.heads} * attention.head_dim;
  if (attention.prefix > 0) {  // keys and values alone
    Rectangle earlier = rows_of(effect.reads.front(), -attention.prefix, attention.prefix);
    earlier.first_column += query_columns;
    earlier.columns -= query_columns;
    effect.reads.push_back(earlier);
  }
  if (attention.cached) effect.reads.push_back(rectangle_of(*attention.cached, rank, schedule.gpus));
  effect.writes = {rectangle_of(attention.output, rank, schedule.gpus)};
  effect.result = [attention, query_columns](const Matrices& inputs) {
    Matrices results;
    for (int sequence = 0; sequence < attention.sequences; ++sequence) {
      const auto part_of = [&](const IntegerMatrix& all) {
        const std::int64_t rows = all.rows / attention.sequences;
        IntegerMatrix part(rows, all.columns);
        std::copy_n(all.row(sequence * rows), rows * all.columns, part.values.data());
        return part;
      };
      Matrices rows;  // the cached ones are the earliest
      if (attention.cached) rows.push_back(keys_alone(part_of(inputs.back()), inputs[0].columns, query_columns));
      if (attention.prefix > 0) rows.push_back(keys_alone(inputs[1], inputs[0].columns, query_columns));
      rows.push_back(part_of(inputs.front()));
      Attention of_sequence = attention;
      of_sequence.prefix = earlier_tokens(attention);
      results.push_back(attended(stacked(rows), of_sequence));
    }
    return Matrices{stacked(results)};
  };
  return {effect};
}

std::vector<Effect> effects_of(const Schedule& schedule, const PartialAttention& work, int rank) {
  Effect effect;
  for (const Slice* slice : {&work.queries, &work.keys_values})
    effect.reads.push_back(rectangle_of(*slice, rank, schedule.gpus));
  for (const Slice* slice : {&work.output, &work.log_sum_exp})
    effect.writes.push_back(rectangle_of(*slice, rank, schedule.gpus));
  effect.result = [work, rank](const Matrices& inputs) {
    AttentionResult result(inputs[0].rows, work.heads, work.head_dim);
    for (const AttentionPart& part : work.parts[static_cast<std::size_t>(rank)])
      for (std::int64_t query = 0; query < part.queries; ++query)
        for (std::int64_t key = 0; key < (part.mask == AttentionMask::full ? part.keys : query + 1); ++key)
          result.add(inputs[0].row(part.first_query + query), part.first_query + query,
                     inputs[1].row(part.first_key + key), work.kv_heads);
    return Matrices{result.output, result.keys};
  };
  return {effect};
}

/// One effect for each group that has rows.
std::vector<Effect> effects_of(const Schedule& schedule, const GroupedGemm& gemm, int rank) {
  const auto on_rank = [&](const Slice& slice) { return rectangle_of(slice, rank, schedule.gpus); };
  const Rectangle a = on_rank(gemm.a), b = on_rank(gemm.b), c = on_rank(gemm.c);
  const std::int64_t n = b.rows / static_cast<std::int64_t>(gemm.group_rows.size());
  std::vector<Effect> all;
  std::int64_t first = 0, group = 0;
  for (const std::int64_t rows : gemm.group_rows) {
    if (rows > 0) {
      Effect effect;
      effect.reads = {rows_of(a, first, rows), rows_of(b, group * n, n)};
      effect.writes = {rows_of(c, first, rows)};
      effect.result = [](const Matrices& inputs) { return Matrices{product(inputs[0], inputs[1])}; };
      all.push_back(std::move(effect));
    }
    first += rows;
    ++group;
  }
  return all;
}

/// Of the own rows, between the two meetings.
std::vector<Effect> effects_of(const Schedule& schedule, const AllReduceNorm&, const Operation& operation, int rank) {
  const Footprint slices = footprint(schedule, operation);
  Effect effect;
  for (const Slice& slice : slices.reads) effect.reads.push_back(rectangle_of(slice, rank, schedule.gpus));
  for (const Slice& slice : slices.writes) effect.writes.push_back(rectangle_of(slice, rank, schedule.gpus));
  effect.result = [gpus = schedule.gpus](const Matrices& inputs) {
    const IntegerMatrix sum = sum_of_all(inputs);
    Matrices outputs(static_cast<std::size_t>(gpus) + 1, rms_norm(sum));
    outputs.front() = sum;
    return outputs;
  };
  return {effect};
}

/// Slices that a kernel can write.
std::size_t results_of(MemoryKernel kernel) {
  const bool any = kernel == MemoryKernel::fill || kernel == MemoryKernel::gather || kernel == MemoryKernel::scatter;
  return any ? std::numeric_limits<std::size_t>::max()
         : kernel == MemoryKernel::add_rms_norm || kernel == MemoryKernel::log_sum_exp_merge ? 2
                                                                                             : 1;
}

}  // namespace

void AttentionResult::add(const std::int64_t* query, std::int64_t row, const std::int64_t* key_value, int kv_heads) {
  const int heads = static_cast<int>(keys.columns), head_dim = static_cast<int>(output.columns / heads);
  for (int head = 0; head < heads; ++head) {
    const std::int64_t* q = query + head * head_dim;
    const std::int64_t* k = key_value + head / (heads / kv_heads) * head_dim;
    const std::int64_t* v = k + kv_heads * head_dim;
    const bool is_defined =
        std::find(q, q + head_dim, undefined) == q + head_dim && std::find(k, k + head_dim, undefined) == k + head_dim;
    const std::int64_t score = is_defined ? attention_weight(q, k, head_dim) : undefined;
    std::int64_t* sum = output.row(row) + head * head_dim;
    for (int i = 0; i < head_dim; ++i)
      sum[i] = sum_of(sum[i], is_defined && v[i] != undefined ? score * v[i] : undefined);
    keys.at(row, head) = sum_of(keys.at(row, head), is_defined ? 1 : undefined);
  }
}

void require_integer_meaning(const Schedule& schedule) {
  for (std::size_t i = 0; i < schedule.operations.size(); ++i) {
    const Work& work = schedule.operations[i].work;
    const auto refuse = [&](std::string_view what) {
      throw InputError("operations[" + std::to_string(i) + "]." + std::string(kind_of(work)),
                       "expected an operation that means something in integers, got " + std::string(what));
    };
    match(
        work,
        [&](const MemoryBound& kernel) {
          const std::size_t written = results_of(kernel.kernel);
          if (kernel.writes.size() > written)
            refuse(std::to_string(kernel.writes.size()) + " slices for " +
                   (written == 1 ? "one result" : std::to_string(written) + " results"));
        },
        [](const OneOf<Gemm, GroupedGemm, Collective, AllReduceNorm, GroupedExchange, Copy, Attention, PartialAttention,
                       Signal, Wait, Barrier, Delay> auto&) {});
  }
}

std::vector<Effect> effects(const Schedule& schedule, const Operation& operation, int rank, int tile_group) {
  return match(
      operation.work, [&](const Gemm& gemm) { return effects_of(schedule, gemm, rank, tile_group); },
      [&](const Copy& copy) { return effects_of(schedule, copy, rank); },
      [&](const MemoryBound& work) { return effects_of(schedule, work, rank); },
      [&](const Attention& work) { return effects_of(schedule, work, rank); },
      [&](const GroupedGemm& gemm) { return effects_of(schedule, gemm, rank); },
      [&](const AllReduceNorm& work) { return effects_of(schedule, work, operation, rank); },
      [&](const PartialAttention& work) { return effects_of(schedule, work, rank); },
      [](const OneOf<Collective, GroupedExchange, Signal, Wait, Barrier, Delay> auto&) {
        return std::vector<Effect>{};
      });
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

}  // namespace weft::sim::meaning
