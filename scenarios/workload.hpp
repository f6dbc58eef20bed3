// What is asked: a workload, the schedule that it is to run under, and times that are known already. Plain values;
// case_json.hpp reads and writes them as the command line does, by the keys that each struct lists; build() turns them
// into a Schedule.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "models/base/names.hpp"
#include "models/base/units.hpp"
#include "models/machine/run_condition.hpp"
#include "models/schedule/schedule.hpp"
#include "scenarios/fields.hpp"
#include "scenarios/schedule_choice.hpp"

namespace weft::scenarios {

// --- Workloads: what is to be computed -------------------------------------------------------------------------

void describe_gemm(auto& io, auto& workload) {
  io.required("m", workload.m, {extents, "rows; of a pair the full (gathered) row count"});
  io.required("n", workload.n, {extents, "columns, as the GEMM kernel sees them"});
  io.required("k", workload.k, {extents, "inner size, as the GEMM kernel sees it"});
}

inline constexpr const char* meaning_of_weight_bits =
    "bits of a weight in memory, scales included, which kernels expand to dtype; left out: stored as dtype";

/// Of a weight in memory; `bits` 0: it is stored as `dtype`.
inline double stored_weight_bytes(double bits, DataType dtype) {
  return bits > 0 ? bits / 8 : static_cast<double>(bytes_of(dtype));
}

/// `dtype` is that of a GEMM's inputs.
void describe_types(auto& io, auto& workload) {
  io.input_type("dtype", workload.dtype);
  io.optional("weight_bits", workload.weight_bits, 0, {Range{0}, meaning_of_weight_bits});
}

/// c[m, n] = a[m, k] x b[n, k]^T on each GPU at once. `dtype` is that of the inputs; the output is bf16.
struct GemmWorkload {
  static constexpr const char* meaning = "C[m, n] = A[m, k] B[n, k]^T on each GPU";
  std::int64_t m = 0, n = 0, k = 0;
  DataType dtype = DataType::bf16;
  double weight_bits = 0;  ///< 0: those of `dtype`
  static void describe(auto& io, auto& workload) {
    describe_gemm(io, workload);
    describe_types(io, workload);
  }
  bool operator==(const GemmWorkload&) const = default;
};

/// `bytes` as nccl-tests count them: the full buffer (all_gather: output, reduce_scatter: input, all_to_all: one
/// rank's whole send buffer).
struct CollectiveWorkload {
  static constexpr const char* meaning = "a collective alone";
  CollectiveKind kind = CollectiveKind::all_reduce;
  Bytes bytes = 0;
  static void describe(auto& io, auto& workload) {
    io.required("bytes", workload.bytes, {buffer_sizes, "as nccl-tests counts them: the full buffer"});
  }
  bool operator==(const CollectiveWorkload&) const = default;
};

enum class CopyPattern { one_peer, all_peers };

/// Copy-engine pulls on every GPU at once: `bytes` from rank + 1, or from each peer in turn.
struct CopyWorkload {
  static constexpr const char* meaning = "pulls by copy engines on all GPUs at once";
  Bytes bytes = 0;
  CopyPattern pattern = CopyPattern::one_peer;
  static void describe(auto& io, auto& workload) {
    io.required("bytes", workload.bytes, {buffer_sizes, "as nccl-tests counts them: the full buffer"});
    io.required("pattern", workload.pattern);
  }
  bool operator==(const CopyWorkload&) const = default;
};

enum class PairOp { gemm_all_reduce, gemm_reduce_scatter, gemm_all_to_all, all_gather_gemm, all_to_all_gemm };

CollectiveKind collective_of(PairOp op);
bool collective_comes_first(PairOp op);

/// A GEMM and a collective, one of which needs the other. `m` is the full (gathered) row count, `n` and `k` are as the
/// GEMM kernel sees them; `imbalance`, for the all-to-all forms, is the busiest GPU's rows over the mean `m`.
struct PairWorkload {
  static constexpr const char* meaning = "a GEMM and the collective of its result or input";
  PairOp op = PairOp::gemm_all_reduce;
  std::int64_t m = 0, n = 0, k = 0;
  DataType dtype = DataType::bf16;
  double imbalance = 1;
  double weight_bits = 0;  ///< 0: those of `dtype`
  static void describe(auto& io, auto& workload) {
    describe_gemm(io, workload);
    describe_types(io, workload);
    if (collective_of(workload.op) == CollectiveKind::all_to_all)
      io.optional("imbalance", workload.imbalance, 1, {Range{1}, "rows of the busiest GPU over the mean"});
  }
  bool operator==(const PairWorkload&) const = default;
};

/// gemm||all_reduce: both, independent of each other.
struct ConcurrentPair {
  static constexpr const char* meaning = "a GEMM and an all-reduce, independent of each other";
  std::int64_t m = 0, n = 0, k = 0;
  Bytes bytes = 0;
  DataType dtype = DataType::bf16;
  double weight_bits = 0;  ///< 0: those of `dtype`
  static void describe(auto& io, auto& workload) {
    describe_gemm(io, workload);
    io.required("bytes", workload.bytes, {buffer_sizes, "as nccl-tests counts them: the full buffer"});
    describe_types(io, workload);
  }
  bool operator==(const ConcurrentPair&) const = default;
};

void describe_sequences(auto& io, auto& workload) {
  io.optional("sequences", workload.sequences, 1, {extents, "that the tokens belong to, as many to each"});
  io.optional("prefix", workload.prefix, 0,
              {Range{0, max_extent}, "earlier tokens of each sequence, whose keys and values are cached"});
}

enum class ExpertChoice {
  even,    ///< all experts have as many tokens, where there are enough of them
  random,  ///< by chance, so that few tokens choose fewer experts; those that are chosen have as many
};

/// One decoder layer over the new tokens of some causal sequences; sizes of the unsharded model, tensor-parallel over
/// all GPUs. One sequence without earlier tokens is a prefill, with them a chunk of one; sequences of one new token
/// each are a decode batch. Of the tokens `decoding` may be the new ones of sequences that decode beside the others, as
/// servers mix them. `dtype` is that of the GEMMs' inputs; their outputs are bf16.
struct LayerWorkload {
  static constexpr const char* meaning = "a decoder layer in prefill, decode or both, sizes of the unsharded model";
  std::int64_t tokens = 0, hidden = 0, heads = 0, kv_heads = 0, head_dim = 0, intermediate = 0;
  DataType dtype = DataType::bf16;
  bool sequence_parallel = false;
  std::int64_t experts = 0, experts_per_token = 0;  ///< 0: dense; else `intermediate` is the width of each expert
  double expert_imbalance = 1;                      ///< rows of the busiest expert over the mean of those chosen
  ExpertChoice expert_choice = ExpertChoice::even;
  std::int64_t shared_intermediate = 0;     ///< width of a dense MLP beside the experts; 0: none
  std::int64_t sequences = 1;               ///< that the tokens not decoding belong to, as many to each
  std::int64_t prefix = 0;                  ///< earlier tokens of each, whose keys and values are cached
  std::int64_t decoding = 0;                ///< so many of the tokens, each of a sequence of its own
  std::int64_t decoding_prefix = 0;         ///< earlier tokens of each of those
  double weight_bits = 0, expert_bits = 0;  ///< of a weight in memory, of the experts'; 0: those of `dtype`
  static void describe(auto& io, auto& workload) {
    io.required("tokens", workload.tokens, extents);
    io.required("hidden", workload.hidden, extents);
    io.required("heads", workload.heads, extents);
    io.required("kv_heads", workload.kv_heads, extents);
    io.required("head_dim", workload.head_dim, extents);
    io.required("intermediate", workload.intermediate, {extents, "width of the MLP, or of one expert"});
    describe_types(io, workload);
    io.optional("sequence_parallel", workload.sequence_parallel, false);
    describe_sequences(io, workload);
    io.optional("decoding", workload.decoding, 0,
                {Range{0, max_extent},
                 "so many of the tokens are new ones of sequences that decode beside the others, one each"});
    io.optional("decoding_prefix", workload.decoding_prefix, 0,
                {Range{0, max_extent}, "earlier tokens of each sequence that decodes"});
    io.together({"experts", "experts_per_token"}, workload.experts > 0, [&] {
      io.required("experts", workload.experts, extents);
      io.required("experts_per_token", workload.experts_per_token, {Range{1, workload.experts}, "at most experts"});
      io.optional("expert_imbalance", workload.expert_imbalance, 1,
                  {Range{1}, "rows of the busiest expert over the mean"});
      io.optional("expert_choice", workload.expert_choice, ExpertChoice::even,
                  "how tokens choose: evenly, or by chance, so that few choose fewer experts");
      io.optional("shared_intermediate", workload.shared_intermediate, 0,
                  {Range{0, max_extent}, "width of the shared expert; left out: none"});
      io.optional("expert_bits", workload.expert_bits, 0, {Range{0}, "as weight_bits, of the experts' weights"});
    });
  }
  bool operator==(const LayerWorkload&) const = default;
};

/// The forward pass of attention over one sequence whose `tokens` lie evenly on all GPUs (context parallel), as
/// AttentionShape says; all heads on every GPU.
struct AttentionWorkload {
  static constexpr const char* meaning = "attention over one long sequence that lies on all GPUs";
  std::int64_t tokens = 0, heads = 0, kv_heads = 0, head_dim = 0;
  AttentionMask mask = AttentionMask::causal;
  static void describe(auto& io, auto& workload) {
    io.required("tokens", workload.tokens, extents);
    io.required("heads", workload.heads, extents);
    io.required("kv_heads", workload.kv_heads, extents);
    io.required("head_dim", workload.head_dim, extents);
    io.stated("mask", workload.mask, AttentionMask::causal);
  }
  bool operator==(const AttentionWorkload&) const = default;
};

/// Kernels of one kind in a row, as a GPU that is busy has them: what a graph adds at its ends is left to them all.
inline constexpr std::int64_t most_in_a_row = 64;
void describe_repeats(auto& io, auto& workload) {
  io.optional("repeats", workload.repeats, 1,
              {Range{1, most_in_a_row}, "in an iteration, one after the other; times are of one of them"});
}

/// Causal attention as a decoder layer has it, alone on each GPU: `heads` and `kv_heads` are those of one GPU. One
/// sequence without earlier tokens is a prefill; the others as LayerWorkload says. Each of several `repeats` has cached
/// keys of its own, as the attentions of neighbouring layers have.
struct AttentionKernelWorkload {
  static constexpr const char* meaning = "attention of a decoder layer alone, on each GPU";
  std::int64_t tokens = 0, heads = 0, kv_heads = 0, head_dim = 0, sequences = 1, prefix = 0, repeats = 1;
  static void describe(auto& io, auto& workload) {
    io.required("tokens", workload.tokens, extents);
    io.required("heads", workload.heads, {extents, "of one GPU, as kv_heads"});
    io.required("kv_heads", workload.kv_heads, extents);
    io.required("head_dim", workload.head_dim, extents);
    describe_sequences(io, workload);
    describe_repeats(io, workload);
  }
  bool operator==(const AttentionKernelWorkload&) const = default;
};

enum class RowKernel { add_rms_norm, swiglu, rotary, all_reduce_norm };

/// A memory-bound kernel of a decoder layer, alone on each GPU: it writes m rows of n columns of bf16. A norm may read
/// what a GEMM has stored tile by tile, in tiles of 128 x 256. all_reduce_norm is the one that all GPUs run together:
/// it adds up their partial sums and the residual, each GPU 1/W of the m rows, and brings the norm to all. Several
/// `repeats` of the others work on the same matrices.
struct RowKernelWorkload {
  static constexpr const char* meaning =
      "a memory-bound kernel of a decoder layer alone, on each GPU, or an all-reduce with the norm in it";
  static constexpr std::int64_t tile_rows = 128, tile_columns = 256;
  RowKernel kernel = RowKernel::add_rms_norm;
  std::int64_t m = 0, n = 0;
  LayoutKind layout = LayoutKind::row_major;
  std::int64_t repeats = 1;
  static void describe(auto& io, auto& workload) {
    io.required("m", workload.m, {extents, "rows"});
    io.required("n", workload.n, {extents, "columns of what it writes"});
    if (workload.kernel == RowKernel::add_rms_norm)
      io.optional("layout", workload.layout, LayoutKind::row_major, "as which a GEMM stored what it reads");
    if (workload.kernel != RowKernel::all_reduce_norm) describe_repeats(io, workload);
  }
  bool operator==(const RowKernelWorkload&) const = default;
};

using Workload = std::variant<GemmWorkload, CollectiveWorkload, CopyWorkload, PairWorkload, ConcurrentPair,
                              LayerWorkload, AttentionWorkload, AttentionKernelWorkload, RowKernelWorkload>;

// --- Cases ------------------------------------------------------------------------------------------------------

/// Times of the whole GEMM or the whole NCCL collective alone on that machine, where the user has measured them.
struct Measured {
  static constexpr const char* meaning = "times of the whole GEMM or collective alone, of pairs only";
  std::optional<double> gemm_us, collective_us;
  static void describe(auto& io, auto& measured) {
    io.time_us("gemm_us", measured.gemm_us);
    io.time_us("collective_us", measured.collective_us);
  }
  bool operator==(const Measured&) const = default;
};

/// Of a condition that holds the clock.
inline constexpr double least_clock_MHz = 100, most_clock_MHz = 1e4;

struct Case {
  std::string id;
  int gpus = 1;
  Workload workload;
  ScheduleChoice schedule;
  Measured measured;
  RunCondition condition = {};
  bool operator==(const Case&) const = default;
};

// --- Words and facts -------------------------------------------------------------------------------------------

/// The word for it in a case: "gemm+reduce_scatter", "transformer_layer", ….
std::string_view op_of(const Workload& workload);
/// One workload of each op in the order in which errors list them, its sizes still 0.
const std::vector<Workload>& workload_of_each_op();

/// Its keys in a case and their values, besides the op.
std::vector<Field> fields_of(const Workload& workload);

/// For people: "gemm+all_reduce m=8192 n=8192 k=3584 bf16".
std::string describe(const Workload& workload);

inline constexpr std::int64_t max_experts = 4096;

/// Throws InputError that names the field ("workload.m") where a size is impossible whatever the schedule: not
/// positive, above the limits, fewer than two GPUs for a transfer between GPUs, an element cut in two.
void check_sizes(const Workload& workload, int gpus);

}  // namespace weft::scenarios

namespace weft {

template <>
struct NamesOf<scenarios::ExpertChoice> {
  static constexpr std::array names{std::pair{scenarios::ExpertChoice::even, std::string_view{"even"}},
                                    std::pair{scenarios::ExpertChoice::random, std::string_view{"random"}}};
};
template <>
struct NamesOf<scenarios::CopyPattern> {
  using enum scenarios::CopyPattern;
  static constexpr std::array names{std::pair{one_peer, std::string_view{"one_peer"}},
                                    std::pair{all_peers, std::string_view{"all_peers"}}};
};
template <>
struct NamesOf<scenarios::PairOp> {
  using enum scenarios::PairOp;
  static constexpr std::array names{std::pair{gemm_all_reduce, std::string_view{"gemm+all_reduce"}},
                                    std::pair{gemm_reduce_scatter, std::string_view{"gemm+reduce_scatter"}},
                                    std::pair{gemm_all_to_all, std::string_view{"gemm+all_to_all"}},
                                    std::pair{all_gather_gemm, std::string_view{"all_gather+gemm"}},
                                    std::pair{all_to_all_gemm, std::string_view{"all_to_all+gemm"}}};
};
template <>
struct NamesOf<scenarios::RowKernel> {
  using enum scenarios::RowKernel;
  static constexpr std::array names{
      std::pair{add_rms_norm, std::string_view{"add_rms_norm"}}, std::pair{swiglu, std::string_view{"swiglu"}},
      std::pair{rotary, std::string_view{"rotary"}}, std::pair{all_reduce_norm, std::string_view{"all_reduce_norm"}}};
};

}  // namespace weft
