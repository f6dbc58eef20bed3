// The schedule: what is to be done, on which stream, after what. Plain data that both executors read.
//
// A schedule is written once, for rank r of `gpus` ranks that all run it; peers are named relative to r. It knows
// nothing of time, of the simulator or of CUDA. Positions in the vectors are the ids; operations stand in the order
// in which the host launches them, so an edge can only point backwards. Waits on counters may point anywhere.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "models/base/names.hpp"
#include "models/base/units.hpp"
#include "models/schedule/buffers.hpp"
#include "models/schedule/gemm.hpp"
#include "models/schedule/gemm_kernel.hpp"

namespace weft {

using StreamId = int;
using OperationId = int;

// --- Operations ------------------------------------------------------------------------------------------------

/// One kernel for the GEMM of each group, such as the experts of a layer: c[rows of g] = a[rows of g] x b_g[n, k]^T.
/// The rows of a and c are sorted by group, `group_rows` of each (0 is allowed); b holds the groups' matrices one below
/// the other, n rows each.
struct GroupedGemm {
  Slice a = {}, b = {}, c = {};
  std::vector<std::int64_t> group_rows = {};
  std::optional<GemmKernel> kernel = {};  ///< empty: what the machine's library chooses for a group of mean size
  bool operator==(const GroupedGemm&) const = default;
};

enum class CollectiveKind { all_reduce, all_gather, reduce_scatter, all_to_all };
template <>
struct NamesOf<CollectiveKind> {
  static constexpr std::array names{std::pair{CollectiveKind::all_reduce, std::string_view{"all_reduce"}},
                                    std::pair{CollectiveKind::all_gather, std::string_view{"all_gather"}},
                                    std::pair{CollectiveKind::reduce_scatter, std::string_view{"reduce_scatter"}},
                                    std::pair{CollectiveKind::all_to_all, std::string_view{"all_to_all"}}};
};

/// nccl: the library as it chooses; nccl_nvls: told to add up in the switch (NCCL_ALGO=NVLS); nccl_symmetric: by its
/// kernels for windows of symmetric memory; nccl_copy_engine: by copies between such windows, without SMs
/// (NCCL_CTA_POLICY_ZERO); peer_kernel: a kernel of one's own over peer access, in two shots; one_shot: in one,
/// every rank loads all ranks' data; multicast: by the switch's multicast. nccl_nvls and one_shot are of all_reduce
/// alone, nccl_copy_engine of all_gather and all_to_all, nccl_symmetric of all but all_to_all.
enum class Transport {
  nccl,
  nccl_nvls,
  nccl_symmetric,
  nccl_copy_engine,
  pull,
  push,
  peer_kernel,
  one_shot,
  multicast
};
template <>
struct NamesOf<Transport> {
  static constexpr std::array names{std::pair{Transport::nccl, std::string_view{"nccl"}},
                                    std::pair{Transport::nccl_nvls, std::string_view{"nccl_nvls"}},
                                    std::pair{Transport::nccl_symmetric, std::string_view{"nccl_symmetric"}},
                                    std::pair{Transport::nccl_copy_engine, std::string_view{"nccl_copy_engine"}},
                                    std::pair{Transport::pull, std::string_view{"pull"}},
                                    std::pair{Transport::push, std::string_view{"push"}},
                                    std::pair{Transport::peer_kernel, std::string_view{"peer_kernel"}},
                                    std::pair{Transport::one_shot, std::string_view{"one_shot"}},
                                    std::pair{Transport::multicast, std::string_view{"multicast"}}};
};

/// Shapes, in rows of whole slices: all_reduce input = output; all_gather output = gpus x input; reduce_scatter
/// input = gpus x output; all_to_all input = output, cut in gpus equal row blocks by destination and by source.
struct Collective {
  CollectiveKind kind = CollectiveKind::all_reduce;
  Slice input = {}, output = {};
  Transport transport = Transport::nccl;
  int max_ctas = 0;  ///< NCCL's maxCTAs, with minCTAs 1; 0: the library's default
  int cluster = 0;   ///< CTAs of a cluster (NCCL_CGA_CLUSTER_SIZE); 0: the library's default
  bool operator==(const Collective&) const = default;
};

/// All-reduce, residual add and RMSNorm fused in one kernel of `ctas` CTAs. The ranks meet. Each adds up the partial
/// sums of its 1/gpus of the rows over all ranks and its residual, keeps that sum as the residual, norms the rows and
/// stores them to all ranks. The ranks meet again. The three slices have equal shapes, absolute rows that divide by the
/// GPUs, and lie on the own rank; `partial` and `normed` are symmetric. Of `residual` a rank uses its own share of the
/// rows.
struct AllReduceNorm {
  Slice partial = {}, residual = {}, normed = {};
  Transport transport = Transport::peer_kernel;  ///< or multicast: the switch adds up what is loaded, stores go to all
  int ctas = 8;
  bool operator==(const AllReduceNorm&) const = default;
};

enum class GroupedKind { cast, reduce };
template <>
struct NamesOf<GroupedKind> {
  static constexpr std::array names{std::pair{GroupedKind::cast, std::string_view{"cast"}},
                                    std::pair{GroupedKind::reduce, std::string_view{"reduce"}}};
};

/// Each pair of ranks exchanges rows of its own number: `rows` is a W x W matrix, rows[s][d] those that rank s sends to
/// rank d. On the diagonal a cast may have rows that stay on their rank and are copied there, a reduce none (count 0).
///   cast    rows[s][d] of rank s's input go to rank d, the same rows to as many ranks as ask for them; rank d's output
///           holds what comes from rank 0, then from rank 1, …, from its first row on
///   reduce  the way back: rank s's input holds what goes to rank 0, then to rank 1, …; it is added to the rows
///           rows[s][d] of rank d's output
/// With logarithms of sums (reduce only, fp32, one row for each row of input and output) results of partial attention
/// are merged by them instead of being added. By nccl as grouped sends and receives, by peer_kernel as loads from
/// inputs in symmetric memory.
struct GroupedExchange {
  GroupedKind kind = GroupedKind::cast;
  Slice input = {}, output = {};
  Transport transport = Transport::nccl;
  std::optional<Slice> input_log_sum_exp = {}, output_log_sum_exp = {};
  std::vector<std::vector<RowRange>> rows = {};
  int max_ctas = 0, cluster = 0;  ///< as in Collective
  bool operator==(const GroupedExchange&) const = default;
};

enum class CopyPath { copy_engine, sms };
template <>
struct NamesOf<CopyPath> {
  static constexpr std::array names{std::pair{CopyPath::copy_engine, std::string_view{"copy_engine"}},
                                    std::pair{CopyPath::sms, std::string_view{"sms"}}};
};

/// Pull (source on a peer), push (destination on a peer) or local copy of equal shapes.
struct Copy {
  Slice source = {}, destination = {};
  CopyPath path = CopyPath::copy_engine;
  bool operator==(const Copy&) const = default;
};

enum class MemoryKernel {
  fill,
  add,
  rms_norm,
  add_rms_norm,
  swiglu,
  rotary,
  partial_sum,
  pytorch_sum,
  gather,
  scatter,
  top_k,
  weighted_sum,
  log_sum_exp_merge,
  quantize,
};
template <>
struct NamesOf<MemoryKernel> {
  static constexpr std::array names{std::pair{MemoryKernel::fill, std::string_view{"fill"}},
                                    std::pair{MemoryKernel::add, std::string_view{"add"}},
                                    std::pair{MemoryKernel::rms_norm, std::string_view{"rms_norm"}},
                                    std::pair{MemoryKernel::add_rms_norm, std::string_view{"add_rms_norm"}},
                                    std::pair{MemoryKernel::swiglu, std::string_view{"swiglu"}},
                                    std::pair{MemoryKernel::rotary, std::string_view{"rotary"}},
                                    std::pair{MemoryKernel::partial_sum, std::string_view{"partial_sum"}},
                                    std::pair{MemoryKernel::pytorch_sum, std::string_view{"pytorch_sum"}},
                                    std::pair{MemoryKernel::gather, std::string_view{"gather"}},
                                    std::pair{MemoryKernel::scatter, std::string_view{"scatter"}},
                                    std::pair{MemoryKernel::top_k, std::string_view{"top_k"}},
                                    std::pair{MemoryKernel::weighted_sum, std::string_view{"weighted_sum"}},
                                    std::pair{MemoryKernel::log_sum_exp_merge, std::string_view{"log_sum_exp_merge"}},
                                    std::pair{MemoryKernel::quantize, std::string_view{"quantize"}}};
};

/// A memory-bound kernel: reads and writes its slices once. `partial_sum` adds the row blocks of reads[0] (as many as
/// writes[0] fits into it) into writes[0], `pytorch_sum` does so as torch.sum over the ranks; `weighted_sum` does so
/// with the weights reads[1], a column for each block; `top_k` writes the largest elements of each row, the largest
/// first; `add` sums its reads; `gather`/`scatter` move rows of equal shapes; `log_sum_exp_merge` makes one result of
/// partial attentions: reads result, log_sum_exp, result, log_sum_exp, …; writes one of each; `quantize` stores what it
/// reads in a buffer of another type. Any kernel may write another type than it reads, as a norm that quantises its
/// result does.
struct MemoryBound {
  MemoryKernel kernel = MemoryKernel::fill;
  std::vector<Slice> reads = {}, writes = {};
  bool operator==(const MemoryBound&) const = default;
};

/// Causal attention over packed q, k, v rows: qkv[tokens, (heads + 2 kv_heads) x head_dim] -> output[tokens, heads x
/// head_dim], of as many rows of each of `sequences` sequences, one after the other. `prefix` earlier tokens, whose
/// keys and values lie in the rows just before qkv's, are attended to as well; then there is one sequence. So are those
/// of `cached`[earlier tokens, 2 kv_heads x head_dim], as many of each sequence, which come before them.
struct Attention {
  Slice qkv = {}, output = {};
  int heads = 0, kv_heads = 0, head_dim = 0;
  std::int64_t prefix = 0;
  int max_sms = 0;  ///< a persistent kernel on so many SMs; 0: no limit
  int sequences = 1;
  std::optional<Slice> cached = {};
  bool operator==(const Attention&) const = default;
};

/// Before the rows of each sequence.
inline std::int64_t earlier_tokens(const Attention& attention) {
  return attention.prefix + (attention.cached ? row_count(attention.cached->rows, 1) / attention.sequences : 0);
}

enum class AttentionMask { full, causal };
template <>
struct NamesOf<AttentionMask> {
  static constexpr std::array names{std::pair{AttentionMask::full, std::string_view{"full"}},
                                    std::pair{AttentionMask::causal, std::string_view{"causal"}}};
};

/// A block of the mask: these queries see these keys, counted from the first row of their slices. causal: as many of
/// both, query i sees keys 0 to i.
struct AttentionPart {
  std::int64_t first_query = 0, queries = 0, first_key = 0, keys = 0;
  AttentionMask mask = AttentionMask::full;
  bool operator==(const AttentionPart&) const = default;
};

/// Attention of queries [tokens, heads x head_dim] over some of their keys and values [rows, 2 kv_heads x head_dim], by
/// a persistent kernel; output as queries, log_sum_exp [tokens, heads] in fp32, so that results over other keys can be
/// merged. `parts` has an entry for each rank, whose parts do not overlap; a query of no part gets an empty result.
struct PartialAttention {
  Slice queries = {}, keys_values = {}, output = {}, log_sum_exp = {};
  int heads = 0, kv_heads = 0, head_dim = 0;
  std::vector<std::vector<AttentionPart>> parts = {};
  int max_sms = 0;  ///< 0: no limit
  bool operator==(const PartialAttention&) const = default;
};

enum class SignalPath { kernel, stream_write, copied_word };
template <>
struct NamesOf<SignalPath> {
  static constexpr std::array names{std::pair{SignalPath::kernel, std::string_view{"kernel"}},
                                    std::pair{SignalPath::stream_write, std::string_view{"stream_write"}},
                                    std::pair{SignalPath::copied_word, std::string_view{"copied_word"}}};
};

/// Adds `add` to the counter of rank (rank + place) mod gpus.
struct Signal {
  CounterId counter = 0;
  int place = 0;
  std::int64_t add = 1;
  SignalPath path = SignalPath::kernel;
  bool operator==(const Signal&) const = default;
};

enum class WaitPath { spinning_kernel, stream_memory_operation };
template <>
struct NamesOf<WaitPath> {
  static constexpr std::array names{
      std::pair{WaitPath::spinning_kernel, std::string_view{"spinning_kernel"}},
      std::pair{WaitPath::stream_memory_operation, std::string_view{"stream_memory_operation"}}};
};

/// Holds the stream until the own counter has reached `value`. A spinning kernel of one thread fits beside whatever
/// leaves it an SM's `gpu.shared_memory_reserve`; with `held_sms` it is one CTA on each of so many SMs and leaves no
/// room there, as a kernel whose every CTA spins.
struct Wait {
  CounterId counter = 0;
  std::int64_t value = 1;
  WaitPath path = WaitPath::spinning_kernel;
  int held_sms = 0;
  bool operator==(const Wait&) const = default;
};

/// All ranks meet. Barriers of one channel meet in the order of their launch.
struct Barrier {
  int channel = 0;
  bool operator==(const Barrier&) const = default;
};

/// Holds the stream for a time, and `held_sms` SMs whole: no other kernel's CTA fits beside its own.
struct Delay {
  double time_us = 0;
  int held_sms = 0;
  bool operator==(const Delay&) const = default;
};

using Work = std::variant<Gemm, GroupedGemm, Collective, AllReduceNorm, GroupedExchange, Copy, MemoryBound, Attention,
                          PartialAttention, Signal, Wait, Barrier, Delay>;

enum class Point { first_cta_started, all_ctas_started, tile_group, end };
template <>
struct NamesOf<Point> {
  static constexpr std::array names{std::pair{Point::first_cta_started, std::string_view{"first_cta_started"}},
                                    std::pair{Point::all_ctas_started, std::string_view{"all_ctas_started"}},
                                    std::pair{Point::tile_group, std::string_view{"tile_group"}},
                                    std::pair{Point::end, std::string_view{"end"}}};
};

/// Follow a point of an earlier operation of the same rank.
struct After {
  OperationId operation = 0;
  Point point = Point::end;
  int tile_group = 0;  ///< with Point::tile_group
  bool operator==(const After&) const = default;
};

struct Operation {
  std::string name;  ///< unique; the name in traces
  StreamId stream = 0;
  std::vector<After> after;  ///< besides the operation before it on its stream
  Work work;
  bool operator==(const Operation&) const = default;
};

// --- Streams, counters, the whole ------------------------------------------------------------------------------

/// `priority` as in CUDA: 0 is normal, lower is more urgent.
struct Stream {
  std::string name;
  int priority = 0;
  bool operator==(const Stream&) const = default;
};

/// A counter of each rank. It starts every iteration at 0: either a wait that it satisfied sets it back
/// (`reset_by_wait`), or waits compare with what this iteration added.
struct Counter {
  std::string name;
  bool reset_by_wait = false;
  bool operator==(const Counter&) const = default;
};

enum class Launch { graph, eager };
template <>
struct NamesOf<Launch> {
  static constexpr std::array names{std::pair{Launch::graph, std::string_view{"graph"}},
                                    std::pair{Launch::eager, std::string_view{"eager"}}};
};

/// Distributed attention: every rank holds tokens / W queries, keys and values of one sequence. With a causal mask the
/// sequence is cut in 2 W chunks and rank r holds chunks r and 2 W - 1 - r, so that all ranks have equal work; with a
/// full mask rank r holds the r-th of W.
struct AttentionShape {
  int heads = 0, kv_heads = 0, head_dim = 0;
  AttentionMask mask = AttentionMask::causal;
  bool operator==(const AttentionShape&) const = default;
};

/// An iteration of whole decoder layers begins with their residual stream, the same on every rank, and with its
/// RMSNorm.
struct LayerState {
  /// Sequence-parallel: where each rank has the norm of the rows that it owns, its part of the residual.
  std::optional<Slice> normed_rows = {};
  /// Partial sums that the layer before has left, and that the first operation reduces: none are left before the first.
  std::optional<Slice> partial = {};
  int chunks = 1;  ///< ranks own rows as a reduce_scatter in so many row chunks leaves them
  bool operator==(const LayerState&) const = default;
};

/// What the schedule computes, so that any executor can check the result: `op` is a workload of the command-line
/// contract (such as "gemm+reduce_scatter"); the collective was cut in `chunks` row chunks, which makes row ownership
/// block-cyclic (row_order.hpp says how). m is the full row count, a the operand that the collective or else the GEMM
/// reads, b the GEMM's other one; operands are row-major, the result has any layout. A collective alone has n columns,
/// and any k and b. "grouped_gemm", "all_reduce_norm" (the residual is b) and the names of memory-bound kernels mean
/// one kernel alone, for checks on GPUs. "transformer_layer" is held to another schedule of the same layers.
struct Meaning {
  std::string op;
  std::int64_t m = 0, n = 0, k = 0;
  BufferId a = 0, b = 0, result = 0;
  int chunks = 1;
  /// Further results, such as the all-reduce beside a GEMM, or the gathered input that async TP keeps.
  std::vector<Meaning> also = {};
  bool own_rows_first = false;  ///< gathered rows begin with the own shard; that of rank + 1 follows, and so on
  /// Of a GEMM before or after an all-to-all whose ranks differ in size: the rows of each rank's GEMM, a W-th of them
  /// to or from each rank; m is their mean. Empty: m on every rank.
  std::vector<std::int64_t> rows_of_rank = {};
  /// Of op "distributed_attention": m tokens of the whole sequence, n columns of the result, k = n, a are the queries
  /// and b the keys and values.
  std::optional<AttentionShape> attention = {};
  /// Of op "transformer_layer": m tokens, k columns of the residual a and of its norm b, n columns of what the last
  /// layer's down projection multiplies: the last that is complete when halves of the layers take turns. Its rows are
  /// those of an all_gather in `chunks`.
  std::optional<LayerState> layer = {};
  bool operator==(const Meaning&) const = default;
};

/// Whose kernels run it, and whose graphs: ours, as `weft run` has them, or PyTorch's.
enum class Implementation { weft, pytorch };
template <>
struct NamesOf<Implementation> {
  static constexpr std::array names{std::pair{Implementation::weft, std::string_view{"weft"}},
                                    std::pair{Implementation::pytorch, std::string_view{"pytorch"}}};
};

struct Schedule {
  std::string name;
  std::string family;   ///< which builder made it; free text for hand-written ones
  std::string machine;  ///< profile that its tiles were counted for; empty: any
  int gpus = 1;
  Launch launch = Launch::graph;
  Implementation implementation = Implementation::weft;
  /// CUDA_DEVICE_MAX_CONNECTIONS, the number of hardware queues. Eager: streams beyond it share one. Graphs: with 1 or
  /// 2 all branches share one. 0: the machine's.
  int max_connections = 0;
  int repeats_per_iteration = 1;  ///< equal parts, such as layers, of one iteration; its time is reported per part
  std::vector<Buffer> buffers;
  std::vector<Stream> streams;
  std::vector<Counter> counters;
  std::vector<Operation> operations;
  std::optional<Meaning> meaning;
  bool operator==(const Schedule&) const = default;
};

/// Helper for std::visit: one lambda per kind of work.
template <class... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};
template <class... Handlers>
Overloaded(Handlers...) -> Overloaded<Handlers...>;

/// For a handler that several kinds share: `[](const OneOf<Wait, Barrier> auto&) { … }`.
template <class Kind, class... Kinds>
concept OneOf = (std::same_as<Kind, Kinds> || ...);

/// No operation is of this kind: who takes it takes anything.
struct UnknownWork {};

/// Calls the handler of the work's kind. The handlers name every kind, so that an operation that is added to `Work`
/// does not compile until all who look at operations have an answer for it; one that takes anything does not compile.
template <class... Handlers>
decltype(auto) match(const Work& work, const Handlers&... handlers) {
  const Overloaded<Handlers...> all{handlers...};
  static_assert(!std::is_invocable_v<decltype(all), const UnknownWork&>, "a handler names the kinds that it is for");
  return std::visit(all, work);
}

/// Word for the kind of an operation in JSON and traces: "gemm", "collective", …
std::string_view kind_of(const Work& work);

struct MatrixSize {
  std::int64_t m = 0, n = 0, k = 0;
  Flops flops() const { return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k); }
  bool operator==(const MatrixSize&) const = default;
};
/// Of one of its row blocks, on the rank that has most rows.
inline MatrixSize size_of_block(const Gemm& gemm, int gpus) {
  return {row_count(gemm.a.rows, gpus), row_count(gemm.b.rows, gpus), gemm.a.columns};
}
inline MatrixSize size_of_block_on_rank(const Gemm& gemm, int rank, int gpus) {
  return {row_count(gemm.a.rows, rank, gpus), row_count(gemm.b.rows, gpus), gemm.a.columns};
}
/// Of all row blocks together, on the rank that has most rows.
inline MatrixSize size_of(const Gemm& gemm, int gpus) {
  MatrixSize size = size_of_block(gemm, gpus);
  size.m *= 1 + static_cast<std::int64_t>(gemm.earlier.size());
  return size;
}
inline MatrixSize size_on_rank(const Gemm& gemm, int rank, int gpus) {
  MatrixSize size = size_of_block_on_rank(gemm, rank, gpus);
  size.m *= 1 + static_cast<std::int64_t>(gemm.earlier.size());
  return size;
}
/// Of the rank that has most rows.
inline Bytes bytes_of(const Slice& slice, const Schedule& schedule) {
  return bytes_of(schedule.buffers[slice.buffer], row_count(slice.rows, schedule.gpus) * slice.columns);
}
inline Bytes bytes_on_rank(const Slice& slice, int rank, const Schedule& schedule) {
  return bytes_of(schedule.buffers[slice.buffer], row_count(slice.rows, rank, schedule.gpus) * slice.columns);
}
/// The side of a collective that holds every rank's part; its size is the collective's, as in nccl-tests.
inline const Slice& full_slice(const Collective& collective) {
  return collective.kind == CollectiveKind::all_gather ? collective.output : collective.input;
}

}  // namespace weft
