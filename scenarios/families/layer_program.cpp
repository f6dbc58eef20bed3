#include "scenarios/families/layer_program.hpp"

#include <algorithm>

#include "models/base/division.hpp"
#include "models/base/input_error.hpp"
#include "scenarios/expert_rows.hpp"
#include "scenarios/families/operands.hpp"
#include "scenarios/family_rules.hpp"

namespace weft::scenarios::families {
namespace {

void check_divides(const std::string& field, std::int64_t value, int gpus) {
  if (value % gpus != 0)
    throw InputError("workload." + field,
                     "expected a multiple of gpus = " + std::to_string(gpus) + ", got " + std::to_string(value));
}

std::string layer_name(int index) { return "layer " + std::to_string(index) + " "; }

}  // namespace

void check_tensor_parallel(const LayerWorkload& layer, int gpus) {
  check_divides("heads", layer.heads, gpus);
  check_divides("intermediate", layer.intermediate, gpus);
  check_divides("shared_intermediate", layer.shared_intermediate, gpus);
  if (layer.sequence_parallel) check_divides("tokens", layer.tokens, gpus);
  if (layer.kv_heads % gpus != 0 && gpus % layer.kv_heads != 0)
    throw InputError("workload.kv_heads", "expected a multiple or a divisor of gpus = " + std::to_string(gpus) +
                                              ", got " + std::to_string(layer.kv_heads));
}

std::vector<LayerPair> pairs_of(const LayerWorkload& layer) {
  std::vector<LayerPair> pairs;
  for (const LayerPair pair : {LayerPair::qkv, LayerPair::o, LayerPair::gate_up, LayerPair::down}) {
    const bool gathers = pair == LayerPair::qkv || pair == LayerPair::gate_up;
    const bool is_of_mlp = pair == LayerPair::gate_up || pair == LayerPair::down;
    if ((!gathers || layer.sequence_parallel) && (!is_of_mlp || layer.experts == 0)) pairs.push_back(pair);
  }
  return pairs;
}

LayerProgram::LayerProgram(const Case& request, const LayerWorkload& layer, std::optional<FusedReduction> fused)
    : LayerProgram(request, layer, fused, {}, nullptr) {}

LayerProgram::LayerProgram(const Case& request, const LayerWorkload& layer, OverlappedPairs pairs,
                           const Machine& machine)
    : LayerProgram(request, layer, std::nullopt, std::move(pairs), &machine) {}

LayerProgram::LayerProgram(const Case& request, const LayerWorkload& layer, std::optional<FusedReduction> fused,
                           OverlappedPairs pairs, const Machine* machine)
    : program_(request),
      layer_sizes_(layer),
      sequence_groups_(sequence_groups(layer)),
      fused_(fused),
      pairs_(std::move(pairs)),
      machine_(machine),
      gpus_(request.gpus),
      max_ctas_(request.schedule.max_ctas),
      sequence_parallel_(layer.sequence_parallel && gpus_ > 1),
      heads_(static_cast<int>(layer.heads / gpus_)),
      kv_heads_(static_cast<int>(std::max<std::int64_t>(layer.kv_heads / gpus_, 1))),  // fewer than GPUs: replicated
      head_dim_(static_cast<int>(layer.head_dim)),
      tokens_(layer.tokens),
      hidden_(layer.hidden),
      intermediate_(layer.intermediate / gpus_),
      padded_tokens_(fused ? divided_up(tokens_, gpus_) * gpus_ : tokens_),
      layer_(layer_name(layers_per_iteration - 1)) {
  const std::int64_t own_rows = sequence_parallel_ ? tokens_ / gpus_ : padded_tokens_;
  const Memory exchanged = fused_ ? Memory::symmetric : Memory::local;
  normed_ = program_.add_buffer("normed", padded_tokens_, hidden_, layer.dtype, exchanged);
  residual_ = program_.add_buffer("residual", own_rows, hidden_);
  qkv_ = program_.add_buffer("qkv", tokens_, std::int64_t{heads_ + 2 * kv_heads_} * head_dim_);
  attended_ = program_.add_buffer("attended", tokens_, std::int64_t{heads_} * head_dim_);
  o_input_ = attended_;
  if (layer.dtype != DataType::bf16)
    o_input_ = program_.add_buffer("quantized", tokens_, std::int64_t{heads_} * head_dim_, layer.dtype);
  if (!pairs_.of(LayerPair::o))
    attention_partial_ = program_.add_buffer("attention partial", padded_tokens_, hidden_, DataType::bf16, exchanged);
  const std::int64_t mlp_rows = tokens_ * std::max<std::int64_t>(layer.experts_per_token, 1);
  gate_up_ = program_.add_buffer("gate_up", mlp_rows, 2 * intermediate_);
  activated_ = program_.add_buffer("activated", mlp_rows, intermediate_, layer.dtype);
  if (!pairs_.of(LayerPair::down))
    mlp_partial_ = program_.add_buffer("mlp partial", padded_tokens_, hidden_, DataType::bf16, exchanged);
  if (layer.experts > 0) {
    router_logits_ = program_.add_buffer("router logits", tokens_, layer.experts);
    routing_weights_ = program_.add_buffer("routing weights", tokens_, layer.experts_per_token);
    expert_input_ = program_.add_buffer("expert input", mlp_rows, hidden_, layer.dtype);
    expert_output_ = program_.add_buffer("expert output", mlp_rows, hidden_);
  }
  if (layer.shared_intermediate > 0) {
    const std::int64_t width = layer.shared_intermediate / gpus_;
    shared_gate_up_ = program_.add_buffer("shared gate_up", tokens_, 2 * width);
    shared_activated_ = program_.add_buffer("shared activated", tokens_, width, layer.dtype);
    shared_output_ = program_.add_buffer("shared output", tokens_, hidden_);
  }
  if (sequence_parallel_) {
    reduced_ = program_.add_buffer("reduced rows", own_rows, hidden_);
    normed_rows_ = program_.add_buffer("normed rows", own_rows, hidden_, layer.dtype);
  }
  program_.set_repeats_per_iteration(layers_per_iteration);
  constexpr std::size_t most_of_dense_layer = 13;
  program_.expect_operations(layers_per_iteration * most_of_dense_layer);
}

void LayerProgram::begin_layer(int index) {
  layer_ = layer_name(index);
  const auto add_weight = [&](const std::string& gemm, std::int64_t n, BufferId input) {
    return program_.add_buffer(layer_ + gemm + " weight", n, program_.buffer(input).columns, layer_sizes_.dtype);
  };
  const auto columns_of = [&](BufferId buffer) { return program_.buffer(buffer).columns; };
  const auto add_caches = [&] {
    for (const SequenceGroup& group : sequence_groups_) {
      BufferId& cache = weights_.keys_values.emplace_back(0);
      if (group.prefix > 0)
        cache = program_.add_buffer(layer_ + std::string(group.kind) + "keys and values", group.cached_tokens(),
                                    std::int64_t{2} * kv_heads_ * head_dim_);
    }
  };
  if (layer_sizes_.experts > 0) {
    const auto add_expert_weights = [&](const std::string& gemm, std::int64_t n, std::int64_t k) {
      return program_.add_buffer(layer_ + gemm + " weights", layer_sizes_.experts * n, k, layer_sizes_.dtype);
    };
    weights_ = {.qkv = add_weight("qkv", columns_of(qkv_), normed_),
                .o = add_weight("o", hidden_, attended_),
                .router = add_weight("router", columns_of(router_logits_), normed_),
                .gate_up = add_expert_weights("gate_up", 2 * intermediate_, hidden_),
                .down = add_expert_weights("down", hidden_, intermediate_),
                .keys_values = {}};
    if (layer_sizes_.shared_intermediate > 0) {
      weights_.shared_gate_up = add_weight("shared gate_up", columns_of(shared_gate_up_), normed_);
      weights_.shared_down = add_weight("shared down", hidden_, shared_activated_);
    }
    return add_caches();
  }
  weights_ = {.qkv = add_weight("qkv", columns_of(qkv_), normed_),
              .o = add_weight("o", hidden_, attended_),
              .router = 0,
              .gate_up = add_weight("gate_up", columns_of(gate_up_), normed_),
              .down = add_weight("down", hidden_, activated_),
              .keys_values = {}};
  add_caches();
}

/// A kernel for each group of sequences that has rows in the range.
void LayerProgram::add_attention_kernels(const TokenRange& range) {
  for (std::size_t i = 0; i < sequence_groups_.size(); ++i) {
    const SequenceGroup& group = sequence_groups_[i];
    const std::int64_t begin = std::max(range.rows.first, group.rows.first);
    const std::int64_t end = std::min(range.rows.first + range.rows.count, group.rows.first + group.rows.count);
    if (begin >= end) continue;
    program_.add(main_stream, name(std::string(group.kind) + "attention", range),
                 attention_of(group, {begin, end - begin}, weights_.keys_values[i]));
  }
}

/// Of several sequences, whole ones; of one, rows behind earlier rows.
Attention LayerProgram::attention_of(const SequenceGroup& group, const RowRange& rows, BufferId cache) const {
  const bool is_batch = group.sequences > 1;
  const std::int64_t earlier_rows = rows.first - group.rows.first;
  const std::int64_t sequences = is_batch ? rows.count / group.rows_of_each() : 1;
  Attention attention{.qkv = program_.rows(qkv_, rows.first, rows.count),
                      .output = program_.rows(attended_, rows.first, rows.count),
                      .heads = heads_,
                      .kv_heads = kv_heads_,
                      .head_dim = head_dim_,
                      .prefix = is_batch ? 0 : earlier_rows,
                      .sequences = static_cast<int>(sequences)};
  if (group.prefix > 0)
    attention.cached = program_.rows(cache, is_batch ? earlier_rows / group.rows_of_each() * group.prefix : 0,
                                     sequences * group.prefix);
  return attention;
}

void LayerProgram::add_gemm(const std::string& operation, const TokenRange& range, BufferId input, BufferId weight,
                            BufferId output) {
  program_.add(main_stream, name(operation, range),
               gemm_of(rows(input, range), program_.whole(weight), rows(output, range)));
}

/// all_gather+gemm where it overlaps; else the rows have been gathered before.
void LayerProgram::add_input_gemm(LayerPair pair, const std::string& gemm, const TokenRange& range, BufferId weight,
                                  BufferId output) {
  row_chunks_ = 1;
  if (!pairs_.of(pair)) return add_gemm(gemm, range, normed_, weight, output);
  row_chunks_ = add_pair(pair, gemm, PairOp::all_gather_gemm,
                         {{"shard", normed_rows_}, {"a", normed_}, {"b", weight}, {"c", output}})
                    .chunks;
  (pair == LayerPair::qkv ? attention_chunks_ : mlp_chunks_) = row_chunks_;
}

/// gemm+X where it overlaps, whose result is what the next norm reads; else the collective comes after it.
void LayerProgram::add_output_gemm(LayerPair pair, const std::string& gemm, const TokenRange& range, BufferId input,
                                   BufferId weight, BufferId& partial) {
  int row_chunks = 1;
  if (pairs_.of(pair)) {
    const PairOp op = sequence_parallel_ ? PairOp::gemm_reduce_scatter : PairOp::gemm_all_reduce;
    NamedBuffers buffers{{"a", input}, {"b", weight}};
    if (sequence_parallel_) buffers.emplace("result", reduced_);
    const Meaning meaning = add_pair(pair, gemm, op, std::move(buffers));
    partial = meaning.result;
    row_chunks = meaning.chunks;
  } else {
    add_gemm(gemm, range, input, weight, partial);
  }
  if (sequence_parallel_ && row_chunks != row_chunks_)
    throw InputError("schedule", "expected rows that are scattered after " + gemm +
                                     " as they were gathered before, in " + std::to_string(row_chunks_) +
                                     " chunks, got " + std::to_string(row_chunks));
}

Meaning LayerProgram::add_pair(LayerPair pair, const std::string& gemm, PairOp op, NamedBuffers buffers) {
  const ScheduleChoice& choice = *pairs_.of(pair);
  if (sequence_parallel_ && std::holds_alternative<Signaling>(choice.family))
    throw InputError("workload.sequence_parallel",
                     "expected false: signaling stores rows in an order of its own, which ranks would keep");
  const Buffer& weight = program_.buffer(buffers.at("b"));
  const Case request{
      .id = "",
      .gpus = gpus_,
      .workload = PairWorkload{.op = op, .m = tokens_, .n = weight.rows, .k = weight.columns, .dtype = weight.dtype},
      .schedule = choice,
      .measured = {}};
  program_.begin_part(layer_ + gemm + " ", std::move(buffers));
  try {
    rules_of(choice.family).add_pair(program_, request, *machine_);
  } catch (const InputError& error) {
    if (error.field() == "workload.m") throw InputError("workload.tokens", error.expected());
    throw error.field().starts_with("workload.") ? InputError(error.field() + " of " + gemm, error.expected()) : error;
  }
  return program_.end_part();
}

void LayerProgram::add_attention(const TokenRange& range) {
  add_input_gemm(LayerPair::qkv, "qkv", range, weights_.qkv, qkv_);
  Slice queries_and_keys = rows(qkv_, range);
  queries_and_keys.columns = std::int64_t{heads_ + kv_heads_} * head_dim_;
  program_.add(main_stream, name("rotary", range),
               MemoryBound{.kernel = MemoryKernel::rotary, .reads = {queries_and_keys}, .writes = {queries_and_keys}});
  add_attention_kernels(range);
  if (o_input_ != attended_)
    add_kernel("quantize", range, MemoryKernel::quantize, {rows(attended_, range)}, rows(o_input_, range));
  add_output_gemm(LayerPair::o, "o", range, o_input_, weights_.o, attention_partial_);
}

void LayerProgram::add_mlp(const TokenRange& range) {
  if (layer_sizes_.experts > 0) return add_experts(range);
  add_input_gemm(LayerPair::gate_up, "gate_up", range, weights_.gate_up, gate_up_);
  add_kernel("swiglu", range, MemoryKernel::swiglu, {rows(gate_up_, range)}, rows(activated_, range));
  add_output_gemm(LayerPair::down, "down", range, activated_, weights_.down, mlp_partial_);
}

/// Row j x tokens + t of the experts' input is that of the j-th expert of token t: a routing in which every expert gets
/// a contiguous range of tokens, which costs what any other one costs.
void LayerProgram::add_experts(const TokenRange& range) {
  routes_all_tokens_ &= range.rows.count == tokens_;
  add_gemm("router", range, normed_, weights_.router, router_logits_);
  add_kernel("top_k", range, MemoryKernel::top_k, {rows(router_logits_, range)}, rows(routing_weights_, range));
  add_kernel("gather", range, MemoryKernel::gather,
             std::vector<Slice>(static_cast<std::size_t>(layer_sizes_.experts_per_token), rows(normed_, range)),
             expert_rows_of(expert_input_, range));
  add_grouped_gemm("gate_up", range, expert_input_, weights_.gate_up, gate_up_);
  add_kernel("swiglu", range, MemoryKernel::swiglu, {expert_rows_of(gate_up_, range)},
             expert_rows_of(activated_, range));
  add_grouped_gemm("down", range, activated_, weights_.down, expert_output_);
  add_kernel("weighted_sum", range, MemoryKernel::weighted_sum,
             {expert_rows_of(expert_output_, range), rows(routing_weights_, range)}, rows(mlp_partial_, range));
  if (layer_sizes_.shared_intermediate > 0) add_shared_expert(range);
}

void LayerProgram::add_shared_expert(const TokenRange& range) {
  add_gemm("shared gate_up", range, normed_, weights_.shared_gate_up, shared_gate_up_);
  add_kernel("shared swiglu", range, MemoryKernel::swiglu, {rows(shared_gate_up_, range)},
             rows(shared_activated_, range));
  add_gemm("shared down", range, shared_activated_, weights_.shared_down, shared_output_);
  add_kernel("add shared", range, MemoryKernel::add, {rows(mlp_partial_, range), rows(shared_output_, range)},
             rows(mlp_partial_, range));
}

void LayerProgram::add_grouped_gemm(const std::string& operation, const TokenRange& range, BufferId input,
                                    BufferId weight, BufferId output) {
  program_.add(main_stream, name(operation, range),
               GroupedGemm{.a = expert_rows_of(input, range),
                           .b = program_.whole(weight),
                           .c = expert_rows_of(output, range),
                           .group_rows = expert_rows(range.rows.count, layer_sizes_),
                           .kernel = {}});
}

void LayerProgram::add_kernel(const std::string& operation, const TokenRange& range, MemoryKernel kernel,
                              std::vector<Slice> reads, const Slice& written) {
  program_.add(main_stream, name(operation, range),
               MemoryBound{.kernel = kernel, .reads = std::move(reads), .writes = {written}});
}

void LayerProgram::add_attention_reduction(StreamId stream, const TokenRange& range) {
  if (fused_) return add_fused_reduction(stream, "attention", range, attention_partial_, fused_->attention_ctas);
  add_reduction(stream, {"attention", LayerPair::o, LayerPair::gate_up}, range, attention_partial_);
}
void LayerProgram::add_mlp_reduction(StreamId stream, const TokenRange& range) {
  if (fused_) return add_fused_reduction(stream, "mlp", range, mlp_partial_, fused_->mlp_ctas);
  add_reduction(stream, {"mlp", LayerPair::down, LayerPair::qkv}, range, mlp_partial_);
}

void LayerProgram::add_reduction(StreamId stream, const Block& block, const TokenRange& range, BufferId partial) {
  const std::string half = block.name;
  const bool is_reduced = pairs_.of(block.reduced_by).has_value();
  const Slice summands = is_reduced ? program_.whole(partial) : rows(partial, range);
  Slice sum = summands, normed = rows(normed_, range), residual = rows(residual_, range);
  if (sequence_parallel_) {
    sum = program_.whole(reduced_), normed = program_.whole(normed_rows_), residual = program_.whole(residual_);
    if (!is_reduced)
      program_.add(stream, name(half + " reduce_scatter", range),
                   collective(CollectiveKind::reduce_scatter, summands, sum));
  } else if (gpus_ > 1 && !is_reduced) {
    program_.add(stream, name(half + " all_reduce", range), collective(CollectiveKind::all_reduce, summands, summands));
  }
  program_.add(
      stream, name(half + " add_rms_norm", range),
      MemoryBound{.kernel = MemoryKernel::add_rms_norm, .reads = {sum, residual}, .writes = {normed, residual}});
  if (sequence_parallel_ && !pairs_.of(block.read_by))
    program_.add(stream, name(half + " all_gather", range),
                 collective(CollectiveKind::all_gather, normed, program_.whole(normed_)));
}

/// The last rows of the sequence and those that pad it go together. A CTA works on whole rows.
void LayerProgram::add_fused_reduction(StreamId stream, const std::string& block, const TokenRange& range,
                                       BufferId partial, int ctas) {
  TokenRange padded = range;
  if (range.rows.first + range.rows.count == tokens_) padded.rows.count = padded_tokens_ - range.rows.first;
  program_.add(stream, name(block + " all_reduce_norm", range),
               AllReduceNorm{.partial = rows(partial, padded),
                             .residual = rows(residual_, padded),
                             .normed = rows(normed_, padded),
                             .transport = fused_->transport,
                             .ctas = static_cast<int>(std::min<std::int64_t>(ctas, padded.rows.count / gpus_))});
}

/// Experts are chosen by a token's place, so those of a split, or of rows in another order, are others: nothing else
/// computes the same.
Schedule LayerProgram::finish() && {
  if (layer_sizes_.experts > 0 && (!routes_all_tokens_ || attention_chunks_ > 1)) return std::move(program_).finish();
  LayerState state{.chunks = attention_chunks_};
  if (sequence_parallel_) state.normed_rows = program_.whole(normed_rows_);
  if (!pairs_.of(LayerPair::down)) state.partial = program_.whole(mlp_partial_);
  program_.set_meaning({.op = "transformer_layer",
                        .m = tokens_,
                        .n = program_.buffer(activated_).columns,
                        .k = hidden_,
                        .a = residual_,
                        .b = normed_,
                        .result = activated_,
                        .chunks = mlp_chunks_,
                        .layer = std::move(state)});
  return std::move(program_).finish();
}

Collective LayerProgram::collective(CollectiveKind kind, const Slice& input, const Slice& output) const {
  return {.kind = kind, .input = input, .output = output, .transport = Transport::nccl, .max_ctas = max_ctas_};
}

}  // namespace weft::scenarios::families
