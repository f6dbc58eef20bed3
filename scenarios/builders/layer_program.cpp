#include "scenarios/builders/layer_program.hpp"

#include <algorithm>

#include "models/input_error.hpp"
#include "scenarios/builders/operands.hpp"

namespace weft::scenarios {
namespace {

void check_divides(const std::string& field, std::int64_t value, int gpus) {
  if (value % gpus != 0)
    throw InputError("workload." + field,
                     "expected a multiple of gpus = " + std::to_string(gpus) + ", got " + std::to_string(value));
}

std::string layer_name(int index) { return "layer " + std::to_string(index) + " "; }

}  // namespace

void check_tensor_parallel(const LayerWorkload& layer, int gpus) {
  if (layer.experts > 0) throw InputError("workload.experts", "mixture-of-experts layers are not available yet");
  if (layer.dtype != DataType::bf16)
    throw InputError("workload.dtype", "expected bf16, got " + std::string(name_of(layer.dtype)));
  check_divides("heads", layer.heads, gpus);
  check_divides("intermediate", layer.intermediate, gpus);
  if (layer.sequence_parallel) check_divides("tokens", layer.tokens, gpus);
  if (layer.kv_heads % gpus != 0 && gpus % layer.kv_heads != 0)
    throw InputError("workload.kv_heads", "expected a multiple or a divisor of gpus = " + std::to_string(gpus) +
                                              ", got " + std::to_string(layer.kv_heads));
}

LayerProgram::LayerProgram(const Case& request, const LayerWorkload& layer)
    : program_(request),
      gpus_(request.gpus),
      max_ctas_(request.schedule.max_ctas),
      sequence_parallel_(layer.sequence_parallel && gpus_ > 1),
      heads_(static_cast<int>(layer.heads / gpus_)),
      kv_heads_(static_cast<int>(std::max<std::int64_t>(layer.kv_heads / gpus_, 1))),  // fewer than GPUs: replicated
      head_dim_(static_cast<int>(layer.head_dim)),
      tokens_(layer.tokens),
      hidden_(layer.hidden),
      intermediate_(layer.intermediate / gpus_),
      layer_(layer_name(layers_per_iteration - 1)) {
  const std::int64_t own_rows = sequence_parallel_ ? tokens_ / gpus_ : tokens_;
  normed_ = program_.add_buffer("normed", tokens_, hidden_);
  residual_ = program_.add_buffer("residual", own_rows, hidden_);
  qkv_ = program_.add_buffer("qkv", tokens_, std::int64_t{heads_ + 2 * kv_heads_} * head_dim_);
  attended_ = program_.add_buffer("attended", tokens_, std::int64_t{heads_} * head_dim_);
  attention_partial_ = program_.add_buffer("attention partial", tokens_, hidden_);
  gate_up_ = program_.add_buffer("gate_up", tokens_, 2 * intermediate_);
  activated_ = program_.add_buffer("activated", tokens_, intermediate_);
  mlp_partial_ = program_.add_buffer("mlp partial", tokens_, hidden_);
  if (sequence_parallel_) {
    reduced_ = program_.add_buffer("reduced rows", own_rows, hidden_);
    normed_rows_ = program_.add_buffer("normed rows", own_rows, hidden_);
  }
  program_.set_repeats_per_iteration(layers_per_iteration);
}

void LayerProgram::begin_layer(int index) {
  layer_ = layer_name(index);
  const auto add_weight = [&](const std::string& gemm, BufferId input, BufferId output) {
    return program_.add_buffer(layer_ + gemm + " weight", program_.buffer(output).columns,
                               program_.buffer(input).columns);
  };
  weights_ = {.qkv = add_weight("qkv", normed_, qkv_),
              .o = add_weight("o", attended_, attention_partial_),
              .gate_up = add_weight("gate_up", normed_, gate_up_),
              .down = add_weight("down", activated_, mlp_partial_)};
}

void LayerProgram::add_gemm(const std::string& operation, const TokenRange& range, BufferId input, BufferId weight,
                            BufferId output) {
  program_.add(main_stream, name(operation, range),
               gemm_of(rows(input, range), program_.whole(weight), rows(output, range)));
}

void LayerProgram::add_attention(const TokenRange& range) {
  add_gemm("qkv", range, normed_, weights_.qkv, qkv_);
  Slice queries_and_keys = rows(qkv_, range);
  queries_and_keys.columns = std::int64_t{heads_ + kv_heads_} * head_dim_;
  program_.add(main_stream, name("rotary", range),
               MemoryBound{.kernel = MemoryKernel::rotary, .reads = {queries_and_keys}, .writes = {queries_and_keys}});
  program_.add(main_stream, name("attention", range),
               Attention{.qkv = rows(qkv_, range),
                         .output = rows(attended_, range),
                         .heads = heads_,
                         .kv_heads = kv_heads_,
                         .head_dim = head_dim_,
                         .prefix = range.rows.first});
  add_gemm("o", range, attended_, weights_.o, attention_partial_);
}

void LayerProgram::add_mlp(const TokenRange& range) {
  add_gemm("gate_up", range, normed_, weights_.gate_up, gate_up_);
  program_.add(
      main_stream, name("swiglu", range),
      MemoryBound{
          .kernel = MemoryKernel::swiglu, .reads = {rows(gate_up_, range)}, .writes = {rows(activated_, range)}});
  add_gemm("down", range, activated_, weights_.down, mlp_partial_);
}

void LayerProgram::add_attention_reduction(StreamId stream, const TokenRange& range) {
  add_reduction(stream, "attention", range, attention_partial_);
}
void LayerProgram::add_mlp_reduction(StreamId stream, const TokenRange& range) {
  add_reduction(stream, "mlp", range, mlp_partial_);
}

void LayerProgram::add_reduction(StreamId stream, const std::string& block, const TokenRange& range, BufferId partial) {
  const Slice summands = rows(partial, range);
  Slice sum = summands, normed = rows(normed_, range), residual = rows(residual_, range);
  if (sequence_parallel_) {
    sum = program_.whole(reduced_), normed = program_.whole(normed_rows_), residual = program_.whole(residual_);
    program_.add(stream, name(block + " reduce_scatter", range),
                 collective(CollectiveKind::reduce_scatter, summands, sum));
  } else if (gpus_ > 1) {
    program_.add(stream, name(block + " all_reduce", range),
                 collective(CollectiveKind::all_reduce, summands, summands));
  }
  program_.add(
      stream, name(block + " add_rms_norm", range),
      MemoryBound{.kernel = MemoryKernel::add_rms_norm, .reads = {sum, residual}, .writes = {normed, residual}});
  if (sequence_parallel_)
    program_.add(stream, name(block + " all_gather", range),
                 collective(CollectiveKind::all_gather, normed, program_.whole(normed_)));
}

Collective LayerProgram::collective(CollectiveKind kind, const Slice& input, const Slice& output) const {
  return {.kind = kind, .input = input, .output = output, .transport = Transport::nccl, .max_ctas = max_ctas_};
}

}  // namespace weft::scenarios
