#include "scenarios/workload.hpp"

#include <sstream>
#include <tuple>

#include "models/base/input_error.hpp"
#include "models/base/text.hpp"
#include "models/schedule/sequence_order.hpp"

namespace weft::scenarios {
namespace {

void check_extent(const std::string& field, std::int64_t value, std::int64_t most = max_extent) {
  if (value < 1 || value > most)
    throw InputError("workload." + field,
                     "expected an integer from 1 to " + std::to_string(most) + ", got " + std::to_string(value));
}

/// The last of a matrix's two extents takes the blame.
void check_matrix(const std::string& field, std::int64_t rows, std::int64_t columns, DataType dtype) {
  const Bytes limit = max_buffer_bytes / bytes_of(dtype);
  if (rows > limit / columns)
    throw InputError("workload." + field, "expected matrices of at most " + std::to_string(max_buffer_bytes) +
                                              " bytes, got one of " + std::to_string(rows) + " x " +
                                              std::to_string(columns) + " elements");
}

void check_weight_bits(const std::string& field, double bits, DataType dtype) {
  const auto of_type = 8 * bytes_of(dtype);
  if (!(bits == 0 || (bits >= 1 && bits <= static_cast<double>(of_type))))
    throw InputError("workload." + field, "expected 1 to " + std::to_string(of_type) + ", the bits of " +
                                              std::string(name_of(dtype)) + ", got " +
                                              shown_name(std::to_string(bits)));
}

void check_gemm(const auto& gemm) {
  const auto [m, n, k, dtype] = std::tuple(gemm.m, gemm.n, gemm.k, gemm.dtype);
  check_extent("m", m);
  check_extent("n", n);
  check_extent("k", k);
  check_matrix("n", m, n, DataType::bf16);
  check_matrix("k", m, k, dtype);
  check_matrix("k", n, k, dtype);
  if (dtype != DataType::bf16 && dtype != DataType::fp8)
    throw InputError("workload.dtype", "expected bf16 or fp8, got " + std::string(name_of(dtype)));
  check_weight_bits("weight_bits", gemm.weight_bits, dtype);
}

void check_transfer(int gpus) {
  if (gpus < 2)
    throw InputError("gpus", "expected at least 2 for a transfer between GPUs, got " + std::to_string(gpus));
}

/// `unit`: what the bytes must be a multiple of, with its derivation in words.
void check_bytes(Bytes bytes, Bytes unit, const std::string& derivation) {
  if (bytes < 1 || bytes > max_buffer_bytes)
    throw InputError("workload.bytes", "expected an integer from 1 to " + std::to_string(max_buffer_bytes) + ", got " +
                                           std::to_string(bytes));
  if (bytes % unit != 0)
    throw InputError("workload.bytes", "expected a multiple of " + derivation + " = " + std::to_string(unit) +
                                           ", got " + std::to_string(bytes));
}

void check_mlp_width(const std::string& field, std::int64_t width, const LayerWorkload& layer) {
  check_extent(field, width);
  if (width > max_extent / 2)
    throw InputError("workload." + field,
                     "expected at most " + std::to_string(max_extent / 2) + ", got " + std::to_string(width));
  check_matrix(field, layer.tokens, 2 * width, layer.dtype);
  check_matrix(field, layer.hidden, 2 * width, layer.dtype);
}

void check_experts(const LayerWorkload& layer) {
  if (layer.experts > max_experts)
    throw InputError("workload.experts",
                     "expected at most " + std::to_string(max_experts) + ", got " + std::to_string(layer.experts));
  if (layer.experts_per_token < 1 || layer.experts_per_token > layer.experts)
    throw InputError("workload.experts_per_token",
                     "expected an integer from 1 to experts = " + std::to_string(layer.experts) + ", got " +
                         std::to_string(layer.experts_per_token));
  const double most = static_cast<double>(layer.experts) / static_cast<double>(layer.experts_per_token);
  if (!(layer.expert_imbalance >= 1 && layer.expert_imbalance <= most))
    throw InputError("workload.expert_imbalance",
                     "expected a number from 1 to experts / experts_per_token = " + std::to_string(most) + ", got " +
                         shown_name(std::to_string(layer.expert_imbalance)));
  check_extent("tokens", layer.tokens * layer.experts_per_token);
  check_matrix("tokens", layer.tokens * layer.experts_per_token, std::max(2 * layer.intermediate, layer.hidden),
               layer.dtype);
  check_matrix("experts", layer.experts * 2 * layer.intermediate, layer.hidden, layer.dtype);
  if (layer.shared_intermediate > 0) check_mlp_width("shared_intermediate", layer.shared_intermediate, layer);
  check_weight_bits("expert_bits", layer.expert_bits, layer.dtype);
}

/// Of queries, over all heads: a simulation takes time in proportion to them, and 64 heads of four million tokens need
/// a minute on any GPU.
constexpr std::int64_t most_attention_rows = std::int64_t{1} << 28;

template <class WithHeads>
void check_heads(const WithHeads& workload) {
  check_extent("heads", workload.heads);
  check_extent("kv_heads", workload.kv_heads);
  check_extent("head_dim", workload.head_dim);
  if (workload.heads % workload.kv_heads != 0)
    throw InputError("workload.kv_heads", "expected a divisor of heads = " + std::to_string(workload.heads) + ", got " +
                                              std::to_string(workload.kv_heads));
  if (workload.heads > max_extent / 3 / workload.head_dim)
    throw InputError("workload.head_dim",
                     "expected heads x head_dim below 2^31 / 3, got " + std::to_string(workload.head_dim));
  if (workload.tokens > most_attention_rows / workload.heads)
    throw InputError("workload.tokens", "expected at most " + std::to_string(most_attention_rows / workload.heads) +
                                            " tokens of " + std::to_string(workload.heads) + " heads, got " +
                                            std::to_string(workload.tokens));
}

/// Of sequences, over all heads: each is a tile of attention, however few tokens it has.
constexpr std::int64_t most_attention_sequences = most_attention_rows / 128;

/// Of `rows` tokens in `sequences` behind `prefix` cached ones each, as the fields of those names say.
template <class WithHeads>
void check_sequences(const WithHeads& workload, std::int64_t sequences, const std::string& sequences_field,
                     std::int64_t rows, std::int64_t prefix, const std::string& prefix_field) {
  if (sequences > most_attention_sequences / workload.heads)
    throw InputError("workload." + sequences_field, "expected at most " +
                                                        std::to_string(most_attention_sequences / workload.heads) +
                                                        " sequences of " + std::to_string(workload.heads) +
                                                        " heads, got " + std::to_string(sequences));
  if (prefix == 0) return;
  check_extent(prefix_field, prefix);
  if (prefix > max_extent - rows / sequences)
    throw InputError("workload." + prefix_field, "expected at most " + std::to_string(max_extent - rows / sequences) +
                                                     " beside the new tokens, got " + std::to_string(prefix));
  check_matrix(prefix_field, sequences * prefix, 2 * workload.kv_heads * workload.head_dim, DataType::bf16);
}

/// Of `tokens` of the workload's.
template <class WithSequences>
void check_sequences(const WithSequences& workload, std::int64_t tokens) {
  check_extent("sequences", workload.sequences);
  if (tokens % workload.sequences != 0)
    throw InputError("workload.sequences",
                     "expected a divisor of " +
                         (tokens == workload.tokens ? "tokens = " : std::string("the tokens that do not decode, ")) +
                         std::to_string(tokens) + ", got " + std::to_string(workload.sequences));
  check_sequences(workload, workload.sequences, "sequences", tokens, workload.prefix, "prefix");
}

/// Those of a step of which some decode.
void check_steps(const LayerWorkload& layer) {
  if (layer.decoding == 0 && layer.decoding_prefix > 0)
    throw InputError("workload.decoding", "expected how many sequences decode, since decoding_prefix is " +
                                              std::to_string(layer.decoding_prefix));
  if (layer.decoding >= layer.tokens)
    throw InputError("workload.decoding", "expected fewer than tokens = " + std::to_string(layer.tokens) +
                                              " (where all decode, sequences says so), got " +
                                              std::to_string(layer.decoding));
  check_sequences(layer, layer.tokens - layer.decoding);
  check_sequences(layer, layer.decoding, "decoding", layer.decoding, layer.decoding_prefix, "decoding_prefix");
}

void check_layer(const LayerWorkload& layer) {
  check_extent("tokens", layer.tokens);
  check_extent("hidden", layer.hidden);
  check_heads(layer);
  check_extent("intermediate", layer.intermediate);
  if (layer.intermediate > max_extent / 2)
    throw InputError("workload.intermediate", "expected at most " + std::to_string(max_extent / 2) + ", got " +
                                                  std::to_string(layer.intermediate));
  const std::int64_t widest =
      std::max(2 * layer.intermediate, (layer.heads + 2 * layer.kv_heads) * layer.head_dim);  // unsharded
  check_matrix("tokens", layer.tokens, std::max(widest, layer.hidden), layer.dtype);
  check_matrix("hidden", layer.hidden, widest, layer.dtype);
  check_steps(layer);
  check_weight_bits("weight_bits", layer.weight_bits, layer.dtype);
  if (layer.experts > 0) check_experts(layer);
}

void check_attention(const AttentionWorkload& attention, int gpus) {
  check_transfer(gpus);
  check_extent("tokens", attention.tokens);
  check_heads(attention);
  const int unit = token_unit(attention.mask, gpus);
  if (attention.tokens % unit != 0)
    throw InputError("workload.tokens",
                     "expected a multiple of " +
                         std::string(attention.mask == AttentionMask::causal ? "2 x gpus = " : "gpus = ") +
                         std::to_string(unit) + ", got " + std::to_string(attention.tokens));
  check_matrix("tokens", attention.tokens, std::max(attention.heads, 2 * attention.kv_heads) * attention.head_dim,
               DataType::bf16);
}

void check_attention_kernel(const AttentionKernelWorkload& attention) {
  check_extent("repeats", attention.repeats, most_in_a_row);
  check_extent("tokens", attention.tokens);
  check_heads(attention);
  check_matrix("tokens", attention.tokens, (attention.heads + 2 * attention.kv_heads) * attention.head_dim,
               DataType::bf16);
  check_sequences(attention, attention.tokens);
}

void check_row_kernel(const RowKernelWorkload& work, int gpus) {
  check_extent("repeats", work.repeats, most_in_a_row);
  check_extent("m", work.m);
  check_extent("n", work.n);
  if (work.n > max_extent / 2)
    throw InputError("workload.n",
                     "expected at most " + std::to_string(max_extent / 2) + ", got " + std::to_string(work.n));
  check_matrix("n", work.m, 2 * work.n, DataType::bf16);
  if (work.kernel == RowKernel::all_reduce_norm) {
    check_transfer(gpus);
    if (work.m % gpus != 0)
      throw InputError("workload.m",
                       "expected a multiple of gpus = " + std::to_string(gpus) + ", got " + std::to_string(work.m));
  }
  if (work.layout == LayoutKind::row_major) return;
  for (const auto& [key, extent, unit] :
       {std::tuple{"m", work.m, RowKernelWorkload::tile_rows}, {"n", work.n, RowKernelWorkload::tile_columns}})
    if (extent % unit != 0)
      throw InputError(std::string("workload.") + key,
                       "expected a multiple of a tile's " + std::to_string(unit) + ", got " + std::to_string(extent));
}

}  // namespace

std::string_view op_of(const Workload& workload) {
  return std::visit(Overloaded{[](const GemmWorkload&) { return std::string_view{"gemm"}; },
                               [](const CollectiveWorkload& collective) { return name_of(collective.kind); },
                               [](const CopyWorkload&) { return std::string_view{"copy"}; },
                               [](const PairWorkload& pair) { return name_of(pair.op); },
                               [](const ConcurrentPair&) { return std::string_view{"gemm||all_reduce"}; },
                               [](const LayerWorkload&) { return std::string_view{"transformer_layer"}; },
                               [](const AttentionWorkload&) { return std::string_view{"distributed_attention"}; },
                               [](const AttentionKernelWorkload&) { return std::string_view{"attention"}; },
                               [](const RowKernelWorkload& work) { return name_of(work.kernel); }},
                    workload);
}

const std::vector<Workload>& workload_of_each_op() {
  static const std::vector<Workload> workloads = [] {
    std::vector<Workload> all{GemmWorkload{}};
    for (const auto& [kind, name] : NamesOf<CollectiveKind>::names) all.emplace_back(CollectiveWorkload{kind});
    all.emplace_back(CopyWorkload{});
    for (const auto& [op, name] : NamesOf<PairOp>::names) all.emplace_back(PairWorkload{op});
    all.insert(all.end(), {ConcurrentPair{}, LayerWorkload{}, AttentionWorkload{}, AttentionKernelWorkload{}});
    for (const auto& [kernel, name] : NamesOf<RowKernel>::names) all.emplace_back(RowKernelWorkload{kernel});
    return all;
  }();
  return workloads;
}

std::vector<Field> fields_of(const Workload& workload) {
  return std::visit([](const auto& one) { return fields_of(one); }, workload);
}

std::string describe(const Workload& workload) {
  std::string text(op_of(workload));
  const auto add_word = [&](std::string_view word) { text.append(1, ' ').append(word); };
  const auto add_number = [&](const Field& field, const std::string& digits) {
    add_word(field.key);
    text.append(1, '=').append(digits);
  };
  const auto add = [&](const Field& field) {
    if (!field.is_written) return;
    std::visit(Overloaded{[&](bool) { add_word(field.key); }, add_word, [](const std::vector<int>&) {},
                          [](const std::vector<std::string>&) {},
                          [&](std::int64_t number) { add_number(field, std::to_string(number)); },
                          [&](double number) {
                            std::ostringstream digits;  // as many as tell it apart at a glance
                            digits << number;
                            add_number(field, digits.str());
                          }},
               field.value);
  };
  for (const Field& field : fields_of(workload)) add(field);
  return text;
}

CollectiveKind collective_of(PairOp op) {
  switch (op) {
    case PairOp::gemm_all_reduce:
      return CollectiveKind::all_reduce;
    case PairOp::gemm_reduce_scatter:
      return CollectiveKind::reduce_scatter;
    case PairOp::all_gather_gemm:
      return CollectiveKind::all_gather;
    case PairOp::gemm_all_to_all:
    case PairOp::all_to_all_gemm:
      break;
  }
  return CollectiveKind::all_to_all;
}

bool collective_comes_first(PairOp op) { return op == PairOp::all_gather_gemm || op == PairOp::all_to_all_gemm; }

void check_sizes(const Workload& workload, int gpus) {
  if (gpus < 1) throw InputError("gpus", "expected at least 1, got " + std::to_string(gpus));
  const Bytes element = bytes_of(DataType::bf16);
  std::visit(Overloaded{[](const GemmWorkload& gemm) { check_gemm(gemm); },
                        [&](const CollectiveWorkload& collective) {
                          check_transfer(gpus);
                          check_bytes(collective.bytes, 1, "a byte");
                          const int elements = collective.kind == CollectiveKind::all_reduce ? 1 : gpus;
                          if (const Bytes least = element * elements; collective.bytes < least)
                            throw InputError("workload.bytes", "expected at least " + std::to_string(least) + " (" +
                                                                   std::to_string(elements) + " bf16), got " +
                                                                   std::to_string(collective.bytes));
                        },
                        [&](const CopyWorkload& copy) {
                          check_transfer(gpus);
                          check_bytes(copy.bytes, element, "the bytes of a bf16");
                          check_matrix("bytes", gpus - 1, copy.bytes / element, DataType::bf16);
                        },
                        [&](const PairWorkload& pair) {
                          check_transfer(gpus);
                          check_gemm(pair);
                          if (!(pair.imbalance >= 1 && pair.imbalance <= gpus))
                            throw InputError("workload.imbalance",
                                             "expected a number from 1 to gpus = " + std::to_string(gpus) + ", got " +
                                                 shown_name(std::to_string(pair.imbalance)));
                        },
                        [&](const ConcurrentPair& pair) {
                          check_transfer(gpus);
                          check_gemm(pair);
                          check_bytes(pair.bytes, element, "the bytes of a bf16");
                        },
                        [](const LayerWorkload& layer) { check_layer(layer); },
                        [&](const AttentionWorkload& attention) { check_attention(attention, gpus); },
                        [](const AttentionKernelWorkload& attention) { check_attention_kernel(attention); },
                        [&](const RowKernelWorkload& work) { check_row_kernel(work, gpus); }},
             workload);
}

}  // namespace weft::scenarios
