// transformer_layer: six dense decoder layers in one graph, one stream, tensor-parallel over W GPUs; the time of one
// layer is a sixth of the iteration.
//
//   qkv | rotary | attention | o | all_reduce | add + norm | gate_up | swiglu | down | all_reduce | add + norm
//
// Sequence-parallel, each all_reduce | add + norm becomes reduce_scatter | add + norm on the own rows | all_gather.
//
// Weights are those of six different layers; the layers share the activations, as an allocator would have them. On one
// GPU there is nothing to reduce. The weight of a norm (one row) is left out.
#include "models/input_error.hpp"
#include "scenarios/builders/families.hpp"
#include "scenarios/builders/program.hpp"

namespace weft::scenarios {
namespace {

constexpr int layers_per_iteration = 6;

void check_divides(const std::string& field, std::int64_t value, int gpus) {
  if (value % gpus != 0)
    throw InputError("workload." + field,
                     "expected a multiple of gpus = " + std::to_string(gpus) + ", got " + std::to_string(value));
}

void check_layer(const LayerWorkload& layer, int gpus) {
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

class LayerProgram {
 public:
  LayerProgram(const Case& request, const LayerWorkload& layer);
  void add_layer(int index);
  Schedule finish() && { return std::move(program_).finish(); }

 private:
  void add_gemm(const std::string& name, BufferId input, std::int64_t columns, BufferId output);
  void add_collective(const std::string& name, CollectiveKind kind, BufferId input, BufferId output);
  void add_reduction_and_norm(const std::string& block, BufferId partial);

  Program program_;
  int gpus_;
  int max_ctas_;
  bool sequence_parallel_;
  int heads_, kv_heads_, head_dim_;  // of one GPU
  std::int64_t tokens_, hidden_, intermediate_;
  BufferId normed_ = 0, residual_ = 0, reduced_ = 0, normed_rows_ = 0;
  BufferId qkv_ = 0, attended_ = 0, attention_partial_ = 0;
  BufferId gate_up_ = 0, activated_ = 0, mlp_partial_ = 0;
};

LayerProgram::LayerProgram(const Case& request, const LayerWorkload& layer)
    : program_(request),
      gpus_(request.gpus),
      max_ctas_(request.schedule.max_ctas),
      sequence_parallel_(layer.sequence_parallel && request.gpus > 1),
      heads_(static_cast<int>(layer.heads / gpus_)),
      kv_heads_(static_cast<int>(std::max<std::int64_t>(layer.kv_heads / gpus_, 1))),  // fewer than GPUs: replicated
      head_dim_(static_cast<int>(layer.head_dim)),
      tokens_(layer.tokens),
      hidden_(layer.hidden),
      intermediate_(layer.intermediate / gpus_) {
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

void LayerProgram::add_gemm(const std::string& name, BufferId input, std::int64_t columns, BufferId output) {
  const BufferId weight = program_.add_buffer(name + " weight", columns, program_.buffer(input).columns);
  Gemm gemm;
  gemm.a = program_.whole(input);
  gemm.b = program_.whole(weight);
  gemm.c = program_.whole(output);
  program_.add(main_stream, name, gemm);
}

void LayerProgram::add_collective(const std::string& name, CollectiveKind kind, BufferId input, BufferId output) {
  program_.add(main_stream, name,
               Collective{.kind = kind,
                          .input = program_.whole(input),
                          .output = program_.whole(output),
                          .transport = Transport::nccl,
                          .max_ctas = max_ctas_});
}

void LayerProgram::add_reduction_and_norm(const std::string& block, BufferId partial) {
  BufferId sum = partial;
  if (sequence_parallel_)
    add_collective(block + " reduce_scatter", CollectiveKind::reduce_scatter, partial, sum = reduced_);
  else if (gpus_ > 1)
    add_collective(block + " all_reduce", CollectiveKind::all_reduce, partial, partial);
  const BufferId normed = sequence_parallel_ ? normed_rows_ : normed_;
  program_.add(main_stream, block + " add_rms_norm",
               MemoryBound{.kernel = MemoryKernel::add_rms_norm,
                           .reads = {program_.whole(sum), program_.whole(residual_)},
                           .writes = {program_.whole(normed), program_.whole(residual_)}});
  if (sequence_parallel_) add_collective(block + " all_gather", CollectiveKind::all_gather, normed_rows_, normed_);
}

void LayerProgram::add_layer(int index) {
  const std::string layer = "layer " + std::to_string(index) + " ";
  add_gemm(layer + "qkv", normed_, program_.buffer(qkv_).columns, qkv_);
  Slice queries_and_keys = program_.whole(qkv_);
  queries_and_keys.columns = std::int64_t{heads_ + kv_heads_} * head_dim_;
  program_.add(main_stream, layer + "rotary",
               MemoryBound{.kernel = MemoryKernel::rotary, .reads = {queries_and_keys}, .writes = {queries_and_keys}});
  program_.add(main_stream, layer + "attention",
               Attention{.qkv = program_.whole(qkv_),
                         .output = program_.whole(attended_),
                         .heads = heads_,
                         .kv_heads = kv_heads_,
                         .head_dim = head_dim_,
                         .prefix = 0});
  add_gemm(layer + "o", attended_, hidden_, attention_partial_);
  add_reduction_and_norm(layer + "attention", attention_partial_);
  add_gemm(layer + "gate_up", normed_, 2 * intermediate_, gate_up_);
  program_.add(
      main_stream, layer + "swiglu",
      MemoryBound{
          .kernel = MemoryKernel::swiglu, .reads = {program_.whole(gate_up_)}, .writes = {program_.whole(activated_)}});
  add_gemm(layer + "down", activated_, hidden_, mlp_partial_);
  add_reduction_and_norm(layer + "mlp", mlp_partial_);
}

}  // namespace

Schedule build_layer(const Case& request, const LayerWorkload& layer) {
  check_layer(layer, request.gpus);
  LayerProgram program(request, layer);
  for (int index = 0; index < layers_per_iteration; ++index) program.add_layer(index);
  return std::move(program).finish();
}

}  // namespace weft::scenarios
