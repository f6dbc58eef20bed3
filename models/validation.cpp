#include "models/validation.hpp"

#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <numeric>
#include <set>

#include "models/counters.hpp"
#include "models/deadlock_check.hpp"
#include "models/footprint.hpp"
#include "models/layout.hpp"

namespace weft {
namespace {

constexpr std::int64_t max_elements = std::int64_t{1} << 40;
constexpr int max_gpus = 1024;
constexpr int max_heads = 1 << 20;  // and elements of a head: their products stay far from overflow

std::string text(std::int64_t value) { return std::to_string(value); }
std::string shape(std::int64_t rows, std::int64_t columns) { return text(rows) + " x " + text(columns); }

/// Complaints about one part of the schedule, such as `operations[3].gemm`. Texts are only put together on failure.
class Check {
 public:
  Check(const Schedule& schedule, std::string path) : schedule_(schedule), path_(std::move(path)) {}

  Check at(const std::string& key) const { return Check(schedule_, path_.empty() ? key : path_ + "." + key); }
  template <class Expected>
  void require(bool holds, const char* key, Expected expected) const {
    if (!holds) fail(key, expected());
  }
  [[noreturn]] void fail(const std::string& key, const std::string& expected) const {
    throw InputError(path_ + (path_.empty() || key.empty() ? "" : ".") + key, "expected " + expected);
  }

  template <class T>
  void id(const char* key, int id, const std::vector<T>& all) const {
    require(id >= 0 && id < static_cast<int>(all.size()), key,
            [&] { return "an id below " + text(static_cast<std::int64_t>(all.size())) + ", got " + text(id); });
  }
  void at_least(const char* key, std::int64_t value, std::int64_t least) const {
    require(value >= least, key, [&] { return "at least " + text(least) + ", got " + text(value); });
  }
  void place(const char* key, int place) const {
    require(std::abs(place) < schedule_.gpus, key, [&] {
      return "a place between -" + text(schedule_.gpus) + " and " + text(schedule_.gpus) + ", both excluded, got " +
             text(place);
    });
  }

  std::int64_t rows(const Slice& slice) const { return row_count(slice.rows, schedule_.gpus); }
  const Buffer& buffer(const Slice& slice) const { return schedule_.buffers[static_cast<std::size_t>(slice.buffer)]; }
  bool is_row_major(const Slice& slice) const { return buffer(slice).layout.kind == LayoutKind::row_major; }
  const Schedule& schedule() const { return schedule_; }

  void slice(const std::string& key, const Slice& slice) const {
    const Check here = at(key);
    here.id("buffer", slice.buffer, schedule_.buffers);
    here.place("place", slice.place);
    const Buffer& whole = buffer(slice);
    here.require(slice.place == 0 || whole.memory == Memory::symmetric, "place",
                 [&] { return "0, or symmetric memory: buffer \"" + whole.name + "\" is local"; });
    std::visit([&](const auto& range) { here.in_buffer(range, whole); }, slice.rows);
    here.require(slice.first_column >= 0 && slice.columns >= 1 && slice.columns <= whole.columns &&
                     slice.first_column <= whole.columns - slice.columns,
                 "columns", [&] {
                   return "columns within the " + text(whole.columns) + " of buffer \"" + whole.name + "\", got " +
                          text(slice.columns) + " from " + text(slice.first_column);
                 });
  }

  void same_shape(const char* key, const Slice& a, const Slice& b) const { has_shape(key, b, rows(a), a.columns); }
  void has_shape(const char* key, const Slice& slice, std::int64_t expected_rows, std::int64_t columns) const {
    require(rows(slice) == expected_rows && slice.columns == columns, key,
            [&] { return shape(expected_rows, columns) + ", got " + shape(rows(slice), slice.columns); });
  }
  void same_type(const char* key, const Slice& a, const Slice& b) const {
    require(buffer(a).dtype == buffer(b).dtype, key, [&] {
      return std::string(name_of(buffer(a).dtype)) + " as the other operand, got " +
             std::string(name_of(buffer(b).dtype));
    });
  }

 private:
  void in_buffer(const RowRange& range, const Buffer& whole) const {
    require(
        range.first >= 0 && range.count >= 1 && range.count <= whole.rows && range.first <= whole.rows - range.count,
        "rows", [&] {
          return "rows within the " + text(whole.rows) + " of buffer \"" + whole.name + "\", got " + text(range.count) +
                 " from " + text(range.first);
        });
  }
  void in_buffer(const ShardRows& shard, const Buffer& whole) const {
    place("rows.shard", shard.rank_offset);
    at_least("rows.chunks", shard.chunks, 1);
    require(shard.chunk >= 0 && shard.chunk < shard.chunks, "rows.chunk",
            [&] { return "a chunk below " + text(shard.chunks) + ", got " + text(shard.chunk); });
    require(shard.first >= 0 && shard.of_rows >= 1 && shard.of_rows <= whole.rows &&
                shard.first <= whole.rows - shard.of_rows,
            "rows", [&] {
              return "rows within the " + text(whole.rows) + " of buffer \"" + whole.name + "\", got " +
                     text(shard.of_rows) + " from " + text(shard.first);
            });
    const std::int64_t parts = std::int64_t{schedule_.gpus} * shard.chunks;
    require(shard.of_rows % parts == 0, "rows", [&] {
      return "rows that divide by " + text(schedule_.gpus) + " GPUs x " + text(shard.chunks) + " chunks, got " +
             text(shard.of_rows);
    });
  }

  const Schedule& schedule_;
  std::string path_;
};

// --- Tables ------------------------------------------------------------------------------------------------------

template <class T>
void check_names(const Schedule& schedule, const char* table, const std::vector<T>& all) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Check here(schedule, std::string(table) + "[" + std::to_string(i) + "]");
    here.require(!all[i].name.empty(), "name", [] { return "a name"; });
    here.require(names.insert(all[i].name).second, "name",
                 [&] { return "a name of its own, got \"" + all[i].name + "\" a second time"; });
  }
}

bool is_size(std::int64_t rows, std::int64_t columns) {
  return rows >= 1 && columns >= 1 && rows < max_elements && columns < max_elements && rows <= max_elements / columns;
}

std::int64_t sum(const std::vector<std::int64_t>& values) {
  return std::accumulate(values.begin(), values.end(), std::int64_t{0});
}

/// Positive numbers of tiles that add up to `tiles`; small enough on the way to be added safely.
void check_groups(const Check& here, const char* key, const std::vector<std::int64_t>& groups, std::int64_t tiles) {
  for (const std::int64_t group : groups)
    here.require(group >= 1 && group <= tiles, key,
                 [&] { return "groups of 1 to " + text(tiles) + " tiles, got " + text(group); });
  here.require(sum(groups) == tiles, key,
               [&] { return text(tiles) + " tiles in all groups together, got " + text(sum(groups)); });
}

void check_layout(const Check& here, const Buffer& buffer) {
  const Layout& layout = buffer.layout;
  if (layout.kind == LayoutKind::row_major) {
    here.require(layout == Layout{}, "layout", [] { return "nothing besides the kind for row_major"; });
    return;
  }
  here.require(is_size(layout.rows, layout.columns), "layout.rows",
               [&] { return "a logical matrix of 1 to 2^40 elements, got " + shape(layout.rows, layout.columns); });
  here.require(layout.tile_rows >= 1 && layout.rows % layout.tile_rows == 0, "layout.tile_rows",
               [&] { return "a divisor of " + text(layout.rows) + ", got " + text(layout.tile_rows); });
  here.require(layout.tile_columns >= 1 && layout.columns % layout.tile_columns == 0, "layout.tile_columns",
               [&] { return "a divisor of " + text(layout.columns) + ", got " + text(layout.tile_columns); });
  here.at_least("layout.order.swizzle", layout.order.swizzle, 1);
  const std::int64_t tiles = tile_grid(layout).tiles();
  here.require(buffer.rows == tiles * layout.tile_rows && buffer.columns == layout.tile_columns, "rows", [&] {
    return "storage of " + shape(tiles * layout.tile_rows, layout.tile_columns) + " for this layout, got " +
           shape(buffer.rows, buffer.columns);
  });
  if (layout.kind == LayoutKind::tile_ordered) {
    here.require(layout.group_tiles.empty(), "layout.group_tiles", [] { return "none for tile_ordered"; });
    return;
  }
  check_groups(here, "layout.group_tiles", layout.group_tiles, tiles);
  here.require(layout.tile_rows % here.schedule().gpus == 0, "layout.tile_rows", [&] {
    return "rows that divide by " + text(here.schedule().gpus) + " GPUs, got " + text(layout.tile_rows);
  });
}

void check_tables(const Schedule& schedule) {
  const Check top(schedule, "");
  top.require(schedule.gpus >= 1 && schedule.gpus <= max_gpus, "gpus",
              [&] { return "1 to " + text(max_gpus) + " GPUs, got " + text(schedule.gpus); });
  top.at_least("repeats_per_iteration", schedule.repeats_per_iteration, 1);
  check_names(schedule, "buffers", schedule.buffers);
  check_names(schedule, "streams", schedule.streams);
  check_names(schedule, "counters", schedule.counters);
  check_names(schedule, "operations", schedule.operations);
  top.require(!schedule.operations.empty(), "operations", [] { return "at least one operation, got none"; });
  for (std::size_t i = 0; i < schedule.buffers.size(); ++i) {
    const Buffer& buffer = schedule.buffers[i];
    const Check here(schedule, "buffers[" + std::to_string(i) + "]");
    here.require(is_size(buffer.rows, buffer.columns), "rows",
                 [&] { return "a matrix of 1 to 2^40 elements, got " + shape(buffer.rows, buffer.columns); });
    check_layout(here, buffer);
  }
}

// --- Operations --------------------------------------------------------------------------------------------------

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
  here.require(layout.kind != LayoutKind::sub_tile_ordered || layout.group_tiles == gemm.tile_groups, "tile_groups",
               [] { return "the groups of c's layout"; });
}

void check_kernel(const Check& here, const GemmKernel& kernel) {
  for (const auto& [key, value] : {std::pair{"tile_m", kernel.tile_m},
                                   {"tile_n", kernel.tile_n},
                                   {"tile_k", kernel.tile_k},
                                   {"cluster_m", kernel.cluster_m},
                                   {"cluster_n", kernel.cluster_n},
                                   {"stages", kernel.stages},
                                   {"split_k", kernel.split_k}})
    here.at_least(key, value, 1);
}

void check_tile_groups(const Check& here, const Gemm& gemm, const MatrixSize& size) {
  const bool has_groups = !gemm.tile_groups.empty() || !gemm.signals.empty() || !gemm.waits.empty();
  here.require(gemm.kernel || !has_groups, "kernel", [] { return "an explicit kernel, since tile groups are used"; });
  here.at_least("order.swizzle", gemm.order.swizzle, 1);
  if (gemm.kernel) check_kernel(here.at("kernel"), *gemm.kernel);
  if (!gemm.tile_groups.empty())
    check_groups(here, "tile_groups", gemm.tile_groups, tile_grid(*gemm.kernel, size).tiles());
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
    here.at_least("waits", wait.value, 1);
    const Counter& counter = here.schedule().counters[static_cast<std::size_t>(wait.counter)];
    here.require(!counter.reset_by_wait, "waits", [&] {
      return "a counter that no wait resets, since tiles only look at it, got \"" + counter.name + "\"";
    });
  }
}

void check(const Check& here, const Gemm& gemm) {
  here.slice("a", gemm.a);
  here.slice("b", gemm.b);
  here.slice("c", gemm.c);
  here.require(here.is_row_major(gemm.a), "a", [] { return "a row-major buffer"; });
  here.require(here.is_row_major(gemm.b), "b", [] { return "a row-major buffer"; });
  here.require(gemm.b.columns == gemm.a.columns, "b",
               [&] { return text(gemm.a.columns) + " columns as a has, got " + text(gemm.b.columns); });
  here.same_type("b", gemm.a, gemm.b);
  const DataType in = here.buffer(gemm.a).dtype, out = here.buffer(gemm.c).dtype;
  here.require(in == DataType::fp8 || out == in || out == DataType::fp32, "c",
               [&] { return std::string(name_of(in)) + " or fp32, got " + std::string(name_of(out)); });
  here.at_least("max_sms", gemm.max_sms, 0);
  const MatrixSize size = size_of(gemm, here.schedule().gpus);
  check_tile_groups(here, gemm, size);
  if (here.is_row_major(gemm.c)) {
    here.has_shape("c", gemm.c, size.m, size.n);
  } else {
    check_tile_ordered_output(here, gemm, size);
  }
}

/// NCCL moves contiguous memory.
void check_contiguous(const Check& here, const char* key, const Slice& slice) {
  const std::int64_t columns = here.buffer(slice).columns;
  here.require(slice.columns == columns || here.rows(slice) == 1, key, [&] {
    return "all " + text(columns) + " columns, since NCCL moves contiguous memory, got " + text(slice.columns);
  });
}

void check(const Check& here, const Collective& work) {
  here.slice("input", work.input);
  here.slice("output", work.output);
  here.require(work.input.place == 0, "input.place", [] { return "0: a collective reads its own rank's input"; });
  here.require(work.output.place == 0, "output.place", [] { return "0: a collective writes its own rank's output"; });
  here.same_type("output", work.input, work.output);
  here.at_least("max_ctas", work.max_ctas, 0);
  if (work.transport == Transport::nccl || work.transport == Transport::nccl_copy_engine) {
    check_contiguous(here, "input", work.input);
    check_contiguous(here, "output", work.output);
  }
  const int gpus = here.schedule().gpus;
  const std::int64_t rows = here.rows(work.input);
  switch (work.kind) {
    case CollectiveKind::all_reduce:
      return here.same_shape("output", work.input, work.output);
    case CollectiveKind::all_gather:
      return here.has_shape("output", work.output, rows * gpus, work.input.columns);
    case CollectiveKind::reduce_scatter:
      return here.has_shape("input", work.input, here.rows(work.output) * gpus, work.output.columns);
    case CollectiveKind::all_to_all:
      here.require(rows % gpus == 0, "input",
                   [&] { return "rows that divide by " + text(gpus) + " GPUs, got " + text(rows); });
      return here.same_shape("output", work.input, work.output);
  }
}

void check(const Check& here, const Copy& work) {
  here.slice("source", work.source);
  here.slice("destination", work.destination);
  here.same_shape("destination", work.source, work.destination);
  here.same_type("destination", work.source, work.destination);
  here.require(work.source.place == 0 || work.destination.place == 0, "destination.place",
               [] { return "one end of the copy on the own GPU"; });
}

void check(const Check& here, const MemoryBound& work) {
  for (std::size_t i = 0; i < work.reads.size(); ++i) here.slice("reads[" + std::to_string(i) + "]", work.reads[i]);
  for (std::size_t i = 0; i < work.writes.size(); ++i) here.slice("writes[" + std::to_string(i) + "]", work.writes[i]);
  here.require(!work.writes.empty(), "writes", [] { return "at least one slice, got none"; });
  if (work.kernel == MemoryKernel::fill) {
    here.require(work.reads.empty(), "reads", [] { return "none for fill"; });
    return;
  }
  here.require(!work.reads.empty(), "reads", [] { return "at least one slice, got none"; });
  const Slice& read = work.reads[0];
  const Slice& write = work.writes[0];
  switch (work.kernel) {
    case MemoryKernel::add:
      for (const Slice& summand : work.reads) here.same_shape("reads", write, summand);
      break;
    case MemoryKernel::swiglu:
      here.has_shape("reads", read, here.rows(write), 2 * write.columns);
      break;
    case MemoryKernel::partial_sum:
      here.require(here.rows(read) % here.rows(write) == 0 && read.columns == write.columns, "writes", [&] {
        return "a row block of the " + shape(here.rows(read), read.columns) + " that are read, got " +
               shape(here.rows(write), write.columns);
      });
      break;
    case MemoryKernel::gather:
    case MemoryKernel::scatter: {
      const auto elements = [&](const std::vector<Slice>& slices) {
        std::int64_t count = 0;
        for (const Slice& slice : slices) count += here.rows(slice) * slice.columns;
        return count;
      };
      here.require(elements(work.reads) == elements(work.writes), "writes", [&] {
        return "as many elements as are read, " + text(elements(work.reads)) + ", got " + text(elements(work.writes));
      });
      break;
    }
    case MemoryKernel::fill:
    case MemoryKernel::rms_norm:
    case MemoryKernel::add_rms_norm:
    case MemoryKernel::rotary:
      break;
  }
}

void check(const Check& here, const Attention& work) {
  here.slice("qkv", work.qkv);
  here.slice("output", work.output);
  for (const auto& [key, value] :
       {std::pair{"heads", work.heads}, {"kv_heads", work.kv_heads}, {"head_dim", work.head_dim}})
    here.require(value >= 1 && value <= max_heads, key,
                 [&, number = value] { return "1 to " + text(max_heads) + ", got " + text(number); });
  here.at_least("prefix", work.prefix, 0);
  here.require(work.heads % work.kv_heads == 0, "kv_heads",
               [&] { return "a divisor of the " + text(work.heads) + " heads, got " + text(work.kv_heads); });
  const std::int64_t rows = here.rows(work.qkv), head_dim = work.head_dim;
  here.has_shape("qkv", work.qkv, rows, (std::int64_t{work.heads} + std::int64_t{2} * work.kv_heads) * head_dim);
  here.has_shape("output", work.output, rows, work.heads * head_dim);
  const auto* range = std::get_if<RowRange>(&work.qkv.rows);
  here.require(work.prefix == 0 || (range && work.prefix <= range->first), "prefix", [&] {
    return "earlier tokens in the rows before qkv's, " + text(range ? range->first : 0) + " there, got " +
           text(work.prefix);
  });
}

void check(const Check& here, const Signal& work) {
  here.id("counter", work.counter, here.schedule().counters);
  here.place("place", work.place);
  here.at_least("add", work.add, 1);
}
void check(const Check& here, const Wait& work) {
  here.id("counter", work.counter, here.schedule().counters);
  here.at_least("value", work.value, 1);
}
void check(const Check& here, const Barrier& work) { here.at_least("channel", work.channel, 0); }
void check(const Check& here, const Delay& work) {
  here.require(std::isfinite(work.time_us) && work.time_us >= 0, "time_us",
               [&] { return "a time of at least 0, got " + std::to_string(work.time_us); });
}

void check_after(const Check& here, const After& after, OperationId id) {
  here.require(after.operation >= 0 && after.operation < id, "after", [] { return "an earlier operation"; });
  if (after.point != Point::tile_group) return;
  const Operation& target = here.schedule().operations[static_cast<std::size_t>(after.operation)];
  const auto* gemm = std::get_if<Gemm>(&target.work);
  here.require(gemm && !gemm->tile_groups.empty(), "after",
               [&] { return "a GEMM with tile groups, \"" + target.name + "\" has none: that point never comes"; });
  here.require(after.tile_group >= 0 && after.tile_group < tile_group_count(*gemm), "after", [&] {
    return "a tile group below " + text(tile_group_count(*gemm)) + " of \"" + target.name + "\", got " +
           text(after.tile_group) + ": that point never comes";
  });
}

void check_operations(const Schedule& schedule) {
  for (std::size_t i = 0; i < schedule.operations.size(); ++i) {
    const Operation& operation = schedule.operations[i];
    const Check here(schedule, "operations[" + std::to_string(i) + "]");
    here.id("stream", operation.stream, schedule.streams);
    for (const After& after : operation.after) check_after(here, after, static_cast<OperationId>(i));
    std::visit([&](const auto& work) { check(here.at(std::string(kind_of(operation.work))), work); }, operation.work);
  }
}

// --- The whole ---------------------------------------------------------------------------------------------------

void check_waits(const Schedule& schedule) {
  const std::vector<CounterUse> uses = counter_uses(schedule);
  for (std::size_t c = 0; c < uses.size(); ++c) {
    const CounterUse& use = uses[c];
    const std::string& name = schedule.counters[c].name;
    std::int64_t taken = 0;
    for (const CounterWait& wait : use.waits) {
      taken += wait.value;
      const Check here(schedule, "operations[" + std::to_string(wait.operation) + "]");
      here.require(wait.value <= use.total(), "wait", [&] {
        return "counter \"" + name + "\" to reach " + text(wait.value) + ", an iteration adds only " +
               text(use.total()) + ": that point never comes";
      });
    }
    const Check here(schedule, "counters[" + std::to_string(c) + "]");
    here.require(!schedule.counters[c].reset_by_wait || taken == use.total(), "reset_by_wait", [&] {
      return "waits that take what an iteration adds to \"" + name + "\", " + text(use.total()) + ", got " +
             text(taken);
    });
  }
}

void check_meaning(const Schedule& schedule) {
  if (!schedule.meaning) return;
  const Meaning& meaning = *schedule.meaning;
  const Check here(schedule, "meaning");
  here.require(!meaning.op.empty(), "op", [] { return "the name of a workload"; });
  for (const auto& [key, size] : {std::pair{"m", meaning.m}, {"n", meaning.n}, {"k", meaning.k}})
    here.require(size >= 1 && size < max_elements, key, [&, value = size] { return "1 to 2^40, got " + text(value); });
  here.id("a", meaning.a, schedule.buffers);
  here.id("b", meaning.b, schedule.buffers);
  here.id("result", meaning.result, schedule.buffers);
  here.at_least("chunks", meaning.chunks, 1);
}

}  // namespace

void validate(const Schedule& schedule) {
  check_tables(schedule);
  check_operations(schedule);
  check_waits(schedule);
  check_meaning(schedule);
  check_deadlock(schedule);
}

}  // namespace weft
