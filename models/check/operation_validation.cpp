#include <algorithm>
#include <cmath>
#include <tuple>

#include "models/check/gemm_validation.hpp"
#include "models/check/schedule_check.hpp"
#include "models/schedule/facts.hpp"
#include "models/schedule/footprint.hpp"
#include "models/schedule/layout.hpp"
#include "models/schedule/transports.hpp"

namespace weft::schedule_check {
namespace {

constexpr double max_delay_us = 1e9;  // a quarter of an hour
constexpr int max_heads = 1 << 20;    // and elements of a head: their products stay far from overflow

void check(const Check& here, const GroupedGemm& gemm) {
  here.slice("a", gemm.a);
  here.slice("b", gemm.b);
  here.slice("c", gemm.c);
  for (const auto& [key, slice] : {std::pair{"a", &gemm.a}, {"b", &gemm.b}, {"c", &gemm.c}}) {
    here.require(here.is_row_major(*slice), key, [] { return "a row-major buffer"; });
    here.require(std::holds_alternative<RowRange>(slice->rows), key, [] { return "absolute rows"; });
    here.require(slice->place == 0, key, [] { return "a slice on the own rank"; });
  }
  here.same_type("b", gemm.a, gemm.b);
  if (gemm.kernel) check_kernel(here.at("kernel"), *gemm.kernel);
  const std::int64_t rows = here.rows(gemm.a), matrices = here.rows(gemm.b);
  const auto groups = static_cast<std::int64_t>(gemm.group_rows.size());
  here.at_most("group_rows", gemm.group_rows.size(), max_groups);
  here.require(groups > 0, "group_rows", [] { return "at least one group, got none"; });
  for (const std::int64_t group : gemm.group_rows)
    here.require(group >= 0 && group <= rows, "group_rows",
                 [&] { return "groups of 0 to " + text(rows) + " rows, got " + text(group); });
  here.require(sum(gemm.group_rows) == rows, "group_rows", [&] {
    return text(rows) + " rows in all groups together, as a has, got " + text(sum(gemm.group_rows));
  });
  here.require(matrices % groups == 0, "b",
               [&] { return "rows that divide by " + text(groups) + " groups, got " + text(matrices); });
  here.has_shape("b", gemm.b, matrices, gemm.a.columns);
  here.has_shape("c", gemm.c, rows, matrices / groups);
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
  here.at_least("cluster", work.cluster, 0);
  here.require(does(work.transport, work.kind), "transport", [&] {
    return "one that does " + std::string(name_of(work.kind)) + ", got " + std::string(name_of(work.transport));
  });
  here.require(work.transport != Transport::nccl_copy_engine || work.max_ctas == 0, "max_ctas",
               [&] { return "0, since nccl_copy_engine takes no CTAs, got " + text(work.max_ctas); });
  if (facts(work).by_library) {
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

void check(const Check& here, const AllReduceNorm& work) {
  const int gpus = here.schedule().gpus;
  for (const auto& [key, slice] :
       {std::pair{"partial", &work.partial}, {"residual", &work.residual}, {"normed", &work.normed}}) {
    here.slice(key, *slice);
    here.same_shape(key, work.partial, *slice);
    here.same_type(key, work.partial, *slice);
    here.require(slice->place == 0, key, [] { return "a slice on the own rank"; });
    here.require(here.is_row_major(*slice), key, [] { return "a row-major buffer"; });
    here.require(std::holds_alternative<RowRange>(slice->rows), key, [] { return "absolute rows"; });
    here.require(slice == &work.residual || here.buffer(*slice).memory == Memory::symmetric, key,
                 [&] { return "symmetric memory: buffer \"" + here.buffer(*slice).name + "\" is local"; });
  }
  here.require(here.rows(work.partial) % gpus == 0, "partial",
               [&] { return "rows that divide by " + text(gpus) + " GPUs, got " + text(here.rows(work.partial)); });
  here.require(work.transport == Transport::peer_kernel || work.transport == Transport::multicast, "transport",
               [&] { return "peer_kernel or multicast, got " + std::string(name_of(work.transport)); });
  here.at_least("ctas", work.ctas, 1);
}

/// Every range lies in the rows that it names, and what a rank gathers from all others fits where it is gathered.
void check_exchanged_rows(const Check& here, const GroupedExchange& work) {
  const bool is_cast = work.kind == GroupedKind::cast;
  const auto gpus = static_cast<std::size_t>(here.schedule().gpus);
  const std::int64_t named = here.rows(is_cast ? work.input : work.output);
  const std::int64_t gathered = here.rows(is_cast ? work.output : work.input);
  const auto is_square = [&] {
    return work.rows.size() == gpus &&
           std::all_of(work.rows.begin(), work.rows.end(), [&](const auto& row) { return row.size() == gpus; });
  };
  here.require(is_square(), "rows", [&] { return "a matrix of " + shape(here.schedule().gpus, here.schedule().gpus); });
  std::vector<std::int64_t> total(gpus, 0);
  for (std::size_t source = 0; source < gpus; ++source)
    for (std::size_t destination = 0; destination < gpus; ++destination) {
      const RowRange& range = work.rows[source][destination];
      here.require(is_cast || source != destination || range.count == 0, "rows",
                   [&] { return "no rows from rank " + std::to_string(source) + " to itself"; });
      here.require(range.first >= 0 && range.count >= 0 && range.count <= named && range.first <= named - range.count,
                   "rows", [&] {
                     return "rows within the " + text(named) + " of the " + (is_cast ? "input" : "output") + ", got " +
                            text(range.count) + " from " + text(range.first);
                   });
      total[is_cast ? destination : source] += range.count;
    }
  for (const std::int64_t rows : total)
    here.require(rows <= gathered, "rows", [&] {
      return "at most the " + text(gathered) + " rows of the " + (is_cast ? "output" : "input") +
             " on every rank, got " + text(rows);
    });
}

void check(const Check& here, const GroupedExchange& work) {
  here.slice("input", work.input);
  here.slice("output", work.output);
  here.require(work.input.place == 0, "input.place", [] { return "0: an exchange reads its own rank's input"; });
  here.require(work.output.place == 0, "output.place", [] { return "0: an exchange writes its own rank's output"; });
  here.same_type("output", work.input, work.output);
  here.require(work.input.columns == work.output.columns, "output", [&] {
    return "the input's " + text(work.input.columns) + " columns, got " + text(work.output.columns);
  });
  check_contiguous(here, "input", work.input);
  check_contiguous(here, "output", work.output);
  here.require(work.transport == Transport::nccl || work.transport == Transport::peer_kernel, "transport",
               [&] { return "nccl or peer_kernel, got " + std::string(name_of(work.transport)); });
  here.at_least("max_ctas", work.max_ctas, 0);
  here.at_least("cluster", work.cluster, 0);
  here.require(work.input_log_sum_exp.has_value() == work.output_log_sum_exp.has_value(), "input_log_sum_exp",
               [] { return "both log_sum_exps or none"; });
  check_exchanged_rows(here, work);
  if (!work.input_log_sum_exp) return;
  here.require(work.kind == GroupedKind::reduce, "input_log_sum_exp", [] { return "none for a cast"; });
  for (const auto& [key, sums, results] : {std::tuple{"input_log_sum_exp", *work.input_log_sum_exp, work.input},
                                           {"output_log_sum_exp", *work.output_log_sum_exp, work.output}}) {
    here.slice(key, sums);
    check_contiguous(here, key, sums);
    here.has_shape(key, sums, here.rows(results), work.input_log_sum_exp->columns);
  }
}

void check(const Check& here, const Copy& work) {
  here.slice_of_each_rank("source", work.source);
  here.slice_of_each_rank("destination", work.destination);
  here.same_shape("destination", work.source, work.destination);
  here.same_rows_on_each_rank("destination", work.source, work.destination);
  here.require(work.path == CopyPath::copy_engine || !differ_by_rank(work.source.rows), "path",
               [] { return "copy_engine where ranks copy different rows"; });
  here.same_type("destination", work.source, work.destination);
  here.require(work.source.place == 0 || work.destination.place == 0, "destination.place",
               [] { return "one end of the copy on the own GPU"; });
}

/// It may put rows of tiles in order, whose storage it reads as a whole.
void check_norm(const Check& here, const MemoryBound& work) {
  const Slice& normed = work.writes[0];
  for (const Slice& slice : work.reads) {
    if (here.is_row_major(slice)) {
      here.same_shape("reads", normed, slice);
      continue;
    }
    const Buffer& stored = here.buffer(slice);
    here.has_shape("reads", slice, stored.rows, stored.columns);
    here.require(stored.layout.rows == here.rows(normed) && stored.layout.columns == normed.columns, "writes", [&] {
      return "the " + shape(stored.layout.rows, stored.layout.columns) + " of the layout that is read, got " +
             shape(here.rows(normed), normed.columns);
    });
  }
  for (const Slice& slice : work.writes) here.same_shape("writes", normed, slice);
}

void check(const Check& here, const MemoryBound& work) {
  here.at_most("reads", work.reads.size(), max_groups);
  here.at_most("writes", work.writes.size(), max_groups);
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
    case MemoryKernel::pytorch_sum:
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
    case MemoryKernel::quantize:
    case MemoryKernel::rotary:
      here.same_shape("writes", read, write);
      break;
    case MemoryKernel::top_k:
      here.require(here.rows(read) == here.rows(write) && write.columns <= read.columns, "writes", [&] {
        return "as many rows as are read and at most their " + text(read.columns) + " columns, got " +
               shape(here.rows(write), write.columns);
      });
      break;
    case MemoryKernel::weighted_sum:
      here.require(work.reads.size() == 2, "reads", [&] {
        return "row blocks and their weights, got " + text(static_cast<std::int64_t>(work.reads.size())) + " slices";
      });
      here.has_shape("reads[0]", read, here.rows(write) * work.reads[1].columns, write.columns);
      here.has_shape("reads[1]", work.reads[1], here.rows(write), work.reads[1].columns);
      break;
    case MemoryKernel::log_sum_exp_merge: {
      here.require(work.writes.size() == 2, "writes", [] { return "a result and its log_sum_exp"; });
      here.require(work.reads.size() % 2 == 0, "reads", [] { return "pairs of a result and its log_sum_exp"; });
      for (std::size_t i = 0; i < work.reads.size(); ++i) here.same_shape("reads", work.writes[i % 2], work.reads[i]);
      break;
    }
    case MemoryKernel::rms_norm:
    case MemoryKernel::add_rms_norm:
      check_norm(here, work);
      break;
    case MemoryKernel::fill:
      break;
  }
}

template <class WithHeads>
void check_heads(const Check& here, const WithHeads& work) {
  for (const auto& [key, value] :
       {std::pair{"heads", work.heads}, {"kv_heads", work.kv_heads}, {"head_dim", work.head_dim}})
    here.require(value >= 1 && value <= max_heads, key,
                 [&, number = value] { return "1 to " + text(max_heads) + ", got " + text(number); });
  here.require(work.heads % work.kv_heads == 0, "kv_heads",
               [&] { return "a divisor of the " + text(work.heads) + " heads, got " + text(work.kv_heads); });
}

void check(const Check& here, const Attention& work) {
  here.slice("qkv", work.qkv);
  here.slice("output", work.output);
  check_heads(here, work);
  here.at_least("prefix", work.prefix, 0);
  here.at_least("max_sms", work.max_sms, 0);
  const std::int64_t rows = here.rows(work.qkv), head_dim = work.head_dim;
  here.require(rows <= max_count, "qkv", [&] { return "at most " + text(max_count) + " rows, got " + text(rows); });
  here.has_shape("qkv", work.qkv, rows, (std::int64_t{work.heads} + std::int64_t{2} * work.kv_heads) * head_dim);
  here.has_shape("output", work.output, rows, work.heads * head_dim);
  const auto* range = std::get_if<RowRange>(&work.qkv.rows);
  here.require(work.prefix == 0 || (range && work.prefix <= range->first), "prefix", [&] {
    return "earlier tokens in the rows before qkv's, " + text(range ? range->first : 0) + " there, got " +
           text(work.prefix);
  });
  here.require(work.sequences >= 1 && rows % work.sequences == 0, "sequences",
               [&] { return "a divisor of the " + text(rows) + " rows, got " + text(work.sequences); });
  here.require(work.sequences == 1 || work.prefix == 0, "prefix",
               [&] { return "0 with several sequences, whose earlier tokens are cached, got " + text(work.prefix); });
  if (!work.cached) return;
  here.slice("cached", *work.cached);
  here.require(std::holds_alternative<RowRange>(work.cached->rows) && work.cached->place == 0, "cached",
               [] { return "absolute rows on the own rank"; });
  const std::int64_t cached = here.rows(*work.cached);
  here.has_shape("cached", *work.cached, cached, std::int64_t{2} * work.kv_heads * head_dim);
  here.require(cached % work.sequences == 0, "cached", [&] {
    return "as many rows of each of the " + text(work.sequences) + " sequences, got " + text(cached);
  });
}

void check(const Check& here, const PartialAttention& work) {
  for (const auto& [key, slice] : {std::pair{"queries", &work.queries},
                                   {"keys_values", &work.keys_values},
                                   {"output", &work.output},
                                   {"log_sum_exp", &work.log_sum_exp}})
    here.slice(key, *slice);
  check_heads(here, work);
  const std::int64_t queries = here.rows(work.queries), keys = here.rows(work.keys_values);
  here.has_shape("queries", work.queries, queries, std::int64_t{work.heads} * work.head_dim);
  here.has_shape("keys_values", work.keys_values, keys, std::int64_t{2} * work.kv_heads * work.head_dim);
  here.same_shape("output", work.queries, work.output);
  here.has_shape("log_sum_exp", work.log_sum_exp, queries, work.heads);
  here.at_least("max_sms", work.max_sms, 0);
  here.require(static_cast<int>(work.parts.size()) == here.schedule().gpus, "parts", [&] {
    return "a list for each of the " + text(here.schedule().gpus) + " ranks, got " +
           text(static_cast<std::int64_t>(work.parts.size()));
  });
  const auto lies_within = [](std::int64_t first, std::int64_t count, std::int64_t rows) {
    return first >= 0 && count >= 1 && count <= rows && first <= rows - count;
  };
  for (const auto& of_rank : work.parts)
    for (const AttentionPart& part : of_rank) {
      here.require(std::max(part.queries, part.keys) <= max_count, "parts", [&] {
        return "at most " + text(max_count) + " queries and keys, got " + shape(part.queries, part.keys);
      });
      here.require(lies_within(part.first_query, part.queries, queries), "parts", [&] {
        return "queries within " + text(queries) + " rows, got " + text(part.queries) + " from " +
               text(part.first_query);
      });
      here.require(lies_within(part.first_key, part.keys, keys), "parts", [&] {
        return "keys within " + text(keys) + " rows, got " + text(part.keys) + " from " + text(part.first_key);
      });
      here.require(part.mask == AttentionMask::full || part.queries == part.keys, "parts",
                   [&] { return "as many keys as queries for causal, got " + shape(part.queries, part.keys); });
    }
}

void check(const Check& here, const Signal& work) {
  here.id("counter", work.counter, here.schedule().counters);
  here.place("place", work.place);
  here.within("add", work.add, 1, max_count);
}
void check(const Check& here, const Wait& work) {
  here.id("counter", work.counter, here.schedule().counters);
  here.within("value", work.value, 1, max_total);
  here.at_least("held_sms", work.held_sms, 0);
  here.require(work.held_sms == 0 || work.path == WaitPath::spinning_kernel, "held_sms",
               [] { return "0: only a spinning kernel holds SMs"; });
  const Counter& counter = here.schedule().counters[static_cast<std::size_t>(work.counter)];
  here.require(work.held_sms == 0 || !counter.reset_by_wait, "held_sms",
               [&] { return "0, since the wait resets counter \"" + counter.name + "\""; });
}
void check(const Check& here, const Barrier& work) { here.at_least("channel", work.channel, 0); }
void check(const Check& here, const Delay& work) {
  here.require(work.time_us >= 0 && work.time_us <= max_delay_us, "time_us",
               [&] { return "a time of 0 to 1e9, got " + std::to_string(work.time_us); });
  here.at_least("held_sms", work.held_sms, 0);
}

void check_after(const Check& here, const After& after, OperationId id) {
  here.require(after.operation >= 0 && after.operation < id, "after", [] { return "an earlier operation"; });
  if (after.point != Point::tile_group) return;
  const Operation& target = here.schedule().operations[static_cast<std::size_t>(after.operation)];
  const TileGroups groups = tile_groups(target.work);
  here.require(!groups.tiles.empty(), "after",
               [&] { return "a GEMM with tile groups, \"" + target.name + "\" has none: that point never comes"; });
  here.require(after.tile_group >= 0 && after.tile_group < groups.count, "after", [&] {
    return "a tile group below " + text(groups.count) + " of \"" + target.name + "\", got " + text(after.tile_group) +
           ": that point never comes";
  });
}

}  // namespace

void check_operations(const Schedule& schedule) {
  for (std::size_t i = 0; i < schedule.operations.size(); ++i) {
    const Operation& operation = schedule.operations[i];
    const Check here(schedule, "operations[" + std::to_string(i) + "]");
    here.id("stream", operation.stream, schedule.streams);
    for (const After& after : operation.after) check_after(here, after, static_cast<OperationId>(i));
    const Check there = here.at(std::string(kind_of(operation.work)));
    match(operation.work,
          [&](const OneOf<Gemm, GroupedGemm, Collective, AllReduceNorm, GroupedExchange, Copy, MemoryBound, Attention,
                          PartialAttention, Signal, Wait, Barrier, Delay> auto& work) { check(there, work); });
  }
}

}  // namespace weft::schedule_check
