#include "models/check/validation.hpp"

#include <algorithm>
#include <set>

#include "models/base/text.hpp"
#include "models/check/deadlock_check.hpp"
#include "models/check/schedule_check.hpp"
#include "models/schedule/counters.hpp"
#include "models/schedule/facts.hpp"
#include "models/schedule/footprint.hpp"
#include "models/schedule/hardware_queues.hpp"
#include "models/schedule/layout.hpp"

namespace weft {
namespace {

using namespace schedule_check;

constexpr int max_gpus = 1024;
constexpr int max_connections = 32;  // CUDA C++ Programming Guide, CUDA_DEVICE_MAX_CONNECTIONS

void check_name(const Check& here, const char* key, const std::string& name) {
  here.require(name.size() <= max_name, key, [&] {
    return "a name of at most " + std::to_string(max_name) + " bytes, got \"" + shown_name(name) + "\"";
  });
}

template <class T>
void check_names(const Schedule& schedule, const char* table, const std::vector<T>& all) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Check here(schedule, std::string(table) + "[" + std::to_string(i) + "]");
    here.require(!all[i].name.empty(), "name", [] { return "a name"; });
    check_name(here, "name", all[i].name);
    here.require(names.insert(all[i].name).second, "name",
                 [&] { return "a name of its own, got \"" + all[i].name + "\" a second time"; });
  }
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

/// Before anything walks over them.
void check_amounts(const Check& top) {
  const Schedule& schedule = top.schedule();
  top.at_most("operations", schedule.operations.size(), max_operations);
  top.at_most("buffers", schedule.buffers.size(), max_buffers);
  top.at_most("streams", schedule.streams.size(), max_streams);
  top.at_most("counters", schedule.counters.size(), max_counters);
  std::int64_t parts = std::ssize(schedule.counters);
  for (const Operation& operation : schedule.operations) {
    const TileGroups groups = tile_groups(operation.work);
    parts += 1 + groups.count + std::ssize(groups.signals) + std::ssize(groups.waits);
  }
  top.require(parts * schedule.gpus <= max_parts, "operations", [&] {
    return "at most " + text(max_parts) +
           " operations, tile groups, counters and what tiles do with these, on all GPUs together, got " +
           text(parts * schedule.gpus);
  });
}

void check_tables(const Schedule& schedule) {
  const Check top(schedule, "");
  top.require(schedule.gpus >= 1 && schedule.gpus <= max_gpus, "gpus",
              [&] { return "1 to " + text(max_gpus) + " GPUs, got " + text(schedule.gpus); });
  check_amounts(top);
  for (const auto& [key, name] :
       {std::pair{"name", &schedule.name}, {"family", &schedule.family}, {"machine", &schedule.machine}})
    check_name(top, key, *name);
  top.require(schedule.max_connections >= 0 && schedule.max_connections <= max_connections, "max_connections",
              [&] { return "1 to " + text(max_connections) + " queues, got " + text(schedule.max_connections); });
  top.require(schedule.max_connections <= connections_of_shared_queue || schedule.launch == Launch::eager,
              "max_connections", [&] {
                return "1 or " + text(connections_of_shared_queue) +
                       " for a graph, whose branches share a queue then and have their own with more, got " +
                       text(schedule.max_connections);
              });
  const bool has_one_queue = schedule.max_connections == 1 && schedule.launch == Launch::graph;
  top.require(!has_one_queue || schedule.counters.empty(), "max_connections",
              [] { return "2 for a graph with counters: who waits for one holds up the only queue"; });
  check_names(schedule, "buffers", schedule.buffers);
  check_names(schedule, "streams", schedule.streams);
  check_names(schedule, "counters", schedule.counters);
  check_names(schedule, "operations", schedule.operations);
  top.require(!schedule.operations.empty(), "operations", [] { return "at least one operation, got none"; });
  top.within("repeats_per_iteration", schedule.repeats_per_iteration, 1,
             static_cast<std::int64_t>(schedule.operations.size()));
  for (std::size_t i = 0; i < schedule.buffers.size(); ++i) {
    const Buffer& buffer = schedule.buffers[i];
    const Check here(schedule, "buffers[" + std::to_string(i) + "]");
    here.require(is_size(buffer.rows, buffer.columns), "rows",
                 [&] { return "a matrix of 1 to 2^40 elements, got " + shape(buffer.rows, buffer.columns); });
    check_layout(here, buffer);
    const auto of_type = static_cast<double>(8 * bytes_of(buffer.dtype));
    here.require(buffer.element_bits == 0 || (buffer.element_bits >= 1 && buffer.element_bits <= of_type),
                 "element_bits",
                 [&] { return "1 to the bits of " + std::string(name_of(buffer.dtype)) + ", or none"; });
  }
}

/// Only GEMMs expand what is packed, their weights.
void check_packed(const Schedule& schedule) {
  if (std::ranges::none_of(schedule.buffers, is_packed)) return;
  for (std::size_t i = 0; i < schedule.operations.size(); ++i) {
    const Operation& operation = schedule.operations[i];
    const Slice* const weights = match(
        operation.work,
        [](const OneOf<Gemm, GroupedGemm> auto& gemm) {
          return gemm.a.buffer == gemm.b.buffer || gemm.c.buffer == gemm.b.buffer ? nullptr : &gemm.b;
        },
        [](const OneOf<Collective, AllReduceNorm, GroupedExchange, Copy, MemoryBound, Attention, PartialAttention,
                       Signal, Wait, Barrier, Delay> auto&) -> const Slice* { return nullptr; });
    const Check here(schedule, "operations[" + std::to_string(i) + "]");
    const Footprint slices = footprint(schedule, operation);
    for (const std::vector<Slice>* const some : {&slices.reads, &slices.writes})
      for (const Slice& slice : *some)
        here.require(!is_packed(here.buffer(slice)) || (weights != nullptr && slice.buffer == weights->buffer),
                     kind_of(operation.work).data(), [&] {
                       return "packed elements only in the b of a GEMM, got buffer \"" + here.buffer(slice).name + "\"";
                     });
  }
}

void check_waits(const Schedule& schedule) {
  const std::vector<CounterUse> uses = counter_uses(schedule);
  for (std::size_t c = 0; c < uses.size(); ++c) {
    const CounterUse& use = uses[c];
    const std::string& name = schedule.counters[c].name;
    std::int64_t taken = 0;
    for (const CounterWait& wait : use.waits) {
      taken = std::min(taken + wait.value, use.total() + 1);  // one more is too many already
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

void check_meaning(const Check& here, const Meaning& meaning) {
  const Schedule& schedule = here.schedule();
  here.require(!meaning.op.empty(), "op", [] { return "the name of a workload"; });
  check_name(here, "op", meaning.op);
  here.at_most("also", meaning.also.size(), max_groups);
  for (const auto& [key, size] : {std::pair{"m", meaning.m}, {"n", meaning.n}, {"k", meaning.k}})
    here.require(size >= 1 && size < max_elements, key, [&, value = size] { return "1 to 2^40, got " + text(value); });
  for (const std::int64_t rows : meaning.rows_of_rank) here.within("rows_of_rank", rows, 0, max_elements);
  here.id("a", meaning.a, schedule.buffers);
  here.id("b", meaning.b, schedule.buffers);
  here.id("result", meaning.result, schedule.buffers);
  here.at_least("chunks", meaning.chunks, 1);
  here.require(meaning.attention.has_value() == (meaning.op == "distributed_attention"), "attention", [&] {
    return "the heads and mask of distributed_attention and of nothing else, got op \"" + meaning.op + "\"";
  });
  here.require(meaning.layer.has_value() == (meaning.op == "transformer_layer"), "layer",
               [&] { return "what transformer_layer and nothing else begins with, got op \"" + meaning.op + "\""; });
  if (meaning.layer) {
    if (meaning.layer->normed_rows) here.slice("layer.normed_rows", *meaning.layer->normed_rows);
    if (meaning.layer->partial) here.slice("layer.partial", *meaning.layer->partial);
    here.at_least("layer.chunks", meaning.layer->chunks, 1);
  }
  here.require(!meaning.own_rows_first || meaning.op.starts_with("all_gather"), "own_rows_first",
               [&] { return "an all_gather, got \"" + meaning.op + "\""; });
  here.require(meaning.rows_of_rank.empty() || (static_cast<int>(meaning.rows_of_rank.size()) == schedule.gpus &&
                                                schedule_check::sum(meaning.rows_of_rank) == meaning.m * schedule.gpus),
               "rows_of_rank", [&] { return "rows of each rank, " + text(meaning.m) + " on average"; });
  here.require(meaning.rows_of_rank.empty() || meaning.op == "gemm+all_to_all" || meaning.op == "all_to_all+gemm",
               "rows_of_rank", [&] { return "a GEMM and an all_to_all, got \"" + meaning.op + "\""; });
  for (std::size_t i = 0; i < meaning.also.size(); ++i)
    check_meaning(here.at("also[" + std::to_string(i) + "]"), meaning.also[i]);
}

}  // namespace

void validate(const Schedule& schedule) {
  check_tables(schedule);
  check_operations(schedule);
  check_packed(schedule);
  check_waits(schedule);
  if (schedule.meaning) check_meaning(Check(schedule, "meaning"), *schedule.meaning);
  check_deadlock(schedule);
}

}  // namespace weft
