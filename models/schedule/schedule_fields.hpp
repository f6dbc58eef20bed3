// The fields of every struct of a schedule file, each listed once: a reader or a writer walks over them. So what is
// written can be read, and a default is said in one place. For schedule_json*.cpp only.
//
// An `io` offers required(key, value[, range]), optional(key, value, default[, range]), work(value) and
// buffer/stream/counter(key, id).
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <vector>

#include "models/base/json_object.hpp"
#include "models/schedule/schedule.hpp"

namespace weft::schedule_file {

inline constexpr const char* format_name = "weft.schedule/1";

/// T or const T, since a Writer sees constants.
template <class T, class Plain>
concept Like = std::same_as<std::remove_const_t<T>, Plain>;

template <class T>
inline constexpr bool is_vector = false;
template <class T>
inline constexpr bool is_vector<std::vector<T>> = true;
template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

struct Range {
  std::int64_t least = 0, most = max_json_integer;
};
inline constexpr Range positive{1};
inline constexpr Range any_sign{-max_json_integer};

void describe(auto& io, Like<TileOrder> auto& order) { io.optional("swizzle", order.swizzle, 1, positive); }

void describe(auto& io, Like<Layout> auto& layout) {
  io.required("kind", layout.kind);
  io.optional("rows", layout.rows, std::int64_t{0});
  io.optional("columns", layout.columns, std::int64_t{0});
  io.optional("tile_rows", layout.tile_rows, std::int64_t{0});
  io.optional("tile_columns", layout.tile_columns, std::int64_t{0});
  io.optional("order", layout.order, {});
  io.optional("group_tiles", layout.group_tiles, {}, positive);
}

void describe(auto& io, Like<Buffer> auto& buffer) {
  io.required("name", buffer.name);
  io.required("rows", buffer.rows, positive);
  io.required("columns", buffer.columns, positive);
  io.optional("dtype", buffer.dtype, DataType::bf16);
  io.optional("memory", buffer.memory, Memory::local);
  io.optional("layout", buffer.layout, {});
  io.optional("element_bits", buffer.element_bits, 0.0);
}

void describe(auto& io, Like<Stream> auto& stream) {
  io.required("name", stream.name);
  io.optional("priority", stream.priority, 0, any_sign);
}

void describe(auto& io, Like<Counter> auto& counter) {
  io.required("name", counter.name);
  io.optional("reset_by_wait", counter.reset_by_wait, false);
}

void describe(auto& io, Like<GemmKernel> auto& kernel) {
  io.required("tile_m", kernel.tile_m, positive);
  io.required("tile_n", kernel.tile_n, positive);
  io.required("tile_k", kernel.tile_k, positive);
  io.optional("cluster_m", kernel.cluster_m, 1, positive);
  io.optional("cluster_n", kernel.cluster_n, 1, positive);
  io.optional("stages", kernel.stages, 4, positive);
  io.optional("split_k", kernel.split_k, 1, positive);
  io.optional("scheduler", kernel.scheduler, TileScheduler::grid);
}

void describe(auto& io, Like<TileSignal> auto& signal) {
  io.required("tile_group", signal.tile_group);
  io.counter("counter", signal.counter);
  io.optional("place", signal.place, 0, any_sign);
}

void describe(auto& io, Like<TileWait> auto& wait) {
  io.required("tile_group", wait.tile_group);
  io.counter("counter", wait.counter);
  io.optional("value", wait.value, std::int64_t{1}, positive);
  io.optional("for_addend", wait.for_addend, false);
}

void describe(auto& io, Like<RowBlock> auto& block) {
  io.required("a", block.a);
  io.required("c", block.c);
  io.optional("addend", block.addend, std::nullopt);
  io.optional("replicas", block.replicas, {});
  io.optional("a_from", block.a_from, std::nullopt);
}

void describe(auto& io, Like<Gemm> auto& gemm) {
  io.required("a", gemm.a);
  io.required("b", gemm.b);
  io.required("c", gemm.c);
  io.optional("addend", gemm.addend, std::nullopt);
  io.optional("kernel", gemm.kernel, std::nullopt);
  io.optional("max_sms", gemm.max_sms, 0);
  io.optional("order", gemm.order, {});
  io.optional("tile_groups", gemm.tile_groups, {}, positive);
  io.optional("signals", gemm.signals, {});
  io.optional("waits", gemm.waits, {});
  io.optional("replicas", gemm.replicas, {});
  io.optional("earlier", gemm.earlier, {});
  io.optional("a_from", gemm.a_from, std::nullopt);
  io.optional("meets", gemm.meets, PeerMeeting::nowhere);
}

void describe(auto& io, Like<GroupedGemm> auto& gemm) {
  io.required("a", gemm.a);
  io.required("b", gemm.b);
  io.required("c", gemm.c);
  io.required("group_rows", gemm.group_rows);
  io.optional("kernel", gemm.kernel, std::nullopt);
}

void describe(auto& io, Like<Collective> auto& collective) {
  io.required("kind", collective.kind);
  io.required("input", collective.input);
  io.required("output", collective.output);
  io.optional("transport", collective.transport, Transport::nccl);
  io.optional("max_ctas", collective.max_ctas, 0);
  io.optional("cluster", collective.cluster, 0);
}

void describe(auto& io, Like<GroupedExchange> auto& exchange) {
  io.required("kind", exchange.kind);
  io.required("input", exchange.input);
  io.required("output", exchange.output);
  io.optional("transport", exchange.transport, Transport::nccl);
  io.optional("input_log_sum_exp", exchange.input_log_sum_exp, std::nullopt);
  io.optional("output_log_sum_exp", exchange.output_log_sum_exp, std::nullopt);
  io.required("rows", exchange.rows);
  io.optional("max_ctas", exchange.max_ctas, 0);
  io.optional("cluster", exchange.cluster, 0);
}

void describe(auto& io, Like<AllReduceNorm> auto& work) {
  io.required("partial", work.partial);
  io.required("residual", work.residual);
  io.required("normed", work.normed);
  io.optional("transport", work.transport, Transport::peer_kernel);
  io.optional("ctas", work.ctas, 8, positive);
}

void describe(auto& io, Like<Copy> auto& copy) {
  io.required("source", copy.source);
  io.required("destination", copy.destination);
  io.optional("path", copy.path, CopyPath::copy_engine);
}

void describe(auto& io, Like<MemoryBound> auto& work) {
  io.required("kernel", work.kernel);
  io.optional("reads", work.reads, {});
  io.optional("writes", work.writes, {});
}

void describe(auto& io, Like<Attention> auto& attention) {
  io.required("qkv", attention.qkv);
  io.required("output", attention.output);
  io.required("heads", attention.heads, positive);
  io.required("kv_heads", attention.kv_heads, positive);
  io.required("head_dim", attention.head_dim, positive);
  io.optional("prefix", attention.prefix, std::int64_t{0});
  io.optional("max_sms", attention.max_sms, 0);
  io.optional("sequences", attention.sequences, 1, positive);
  io.optional("cached", attention.cached, std::nullopt);
}

void describe(auto& io, Like<AttentionPart> auto& part) {
  io.required("first_query", part.first_query);
  io.required("queries", part.queries, positive);
  io.required("first_key", part.first_key);
  io.required("keys", part.keys, positive);
  io.optional("mask", part.mask, AttentionMask::full);
}

void describe(auto& io, Like<PartialAttention> auto& attention) {
  io.required("queries", attention.queries);
  io.required("keys_values", attention.keys_values);
  io.required("output", attention.output);
  io.required("log_sum_exp", attention.log_sum_exp);
  io.required("heads", attention.heads, positive);
  io.required("kv_heads", attention.kv_heads, positive);
  io.required("head_dim", attention.head_dim, positive);
  io.required("parts", attention.parts);
  io.optional("max_sms", attention.max_sms, 0);
}

void describe(auto& io, Like<Signal> auto& signal) {
  io.counter("counter", signal.counter);
  io.optional("place", signal.place, 0, any_sign);
  io.optional("add", signal.add, std::int64_t{1}, positive);
  io.optional("path", signal.path, SignalPath::kernel);
}

void describe(auto& io, Like<Wait> auto& wait) {
  io.counter("counter", wait.counter);
  io.optional("value", wait.value, std::int64_t{1}, positive);
  io.optional("path", wait.path, WaitPath::spinning_kernel);
  io.optional("held_sms", wait.held_sms, 0);
}

void describe(auto& io, Like<Barrier> auto& barrier) { io.optional("channel", barrier.channel, 0); }

void describe(auto& io, Like<Delay> auto& delay) {
  io.required("time_us", delay.time_us);
  io.optional("held_sms", delay.held_sms, 0);
}

void describe(auto& io, Like<Operation> auto& operation) {
  io.required("name", operation.name);
  io.stream("stream", operation.stream);
  io.optional("after", operation.after, {});
  io.work(operation.work);
}

void describe(auto& io, Like<AttentionShape> auto& shape) {
  io.required("heads", shape.heads, positive);
  io.required("kv_heads", shape.kv_heads, positive);
  io.required("head_dim", shape.head_dim, positive);
  io.optional("mask", shape.mask, AttentionMask::causal);
}

void describe(auto& io, Like<LayerState> auto& state) {
  io.optional("normed_rows", state.normed_rows, std::nullopt);
  io.optional("partial", state.partial, std::nullopt);
  io.optional("chunks", state.chunks, 1, positive);
}

void describe(auto& io, Like<Meaning> auto& meaning) {
  io.required("op", meaning.op);
  io.required("m", meaning.m, positive);
  io.required("n", meaning.n, positive);
  io.required("k", meaning.k, positive);
  io.buffer("a", meaning.a);
  io.buffer("b", meaning.b);
  io.buffer("result", meaning.result);
  io.optional("rows_of_rank", meaning.rows_of_rank, {});
  io.optional("chunks", meaning.chunks, 1, positive);
  io.optional("also", meaning.also, {});
  io.optional("own_rows_first", meaning.own_rows_first, false);
  io.optional("attention", meaning.attention, std::nullopt);
  io.optional("layer", meaning.layer, std::nullopt);
}

/// Buffers, streams and counters stand before the operations that name them.
void describe(auto& io, Like<Schedule> auto& schedule) {
  io.required("name", schedule.name);
  io.optional("family", schedule.family, {});
  io.optional("machine", schedule.machine, {});
  io.required("gpus", schedule.gpus, positive);
  io.optional("launch", schedule.launch, Launch::graph);
  io.optional("implementation", schedule.implementation, Implementation::weft);
  io.optional("max_connections", schedule.max_connections, 0);
  io.optional("repeats_per_iteration", schedule.repeats_per_iteration, 1, positive);
  io.required("buffers", schedule.buffers);
  io.required("streams", schedule.streams);
  io.optional("counters", schedule.counters, {});
  io.required("operations", schedule.operations);
  io.optional("meaning", schedule.meaning, std::nullopt);
}

}  // namespace weft::schedule_file
