// The kernels of a decoder layer, dense or with experts, tensor-parallel over W GPUs, for all rows of the sequence or
// for some. Six layers stand in one graph, and the time of one is a sixth of the iteration. docs/programs.md tells what
// a layer with experts does.
//
// Weights are those of six different layers; the layers share the activations, as an allocator would have them. On one
// GPU there is nothing to reduce. The weight of a norm (one row) is left out. GEMMs read the layer's dtype and write
// bf16; with fp8 the kernels that make their inputs, norms and SwiGLU, store fp8, and attention's result is quantized.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "models/machine/machine.hpp"
#include "scenarios/families/program.hpp"
#include "scenarios/sequence_groups.hpp"

namespace weft::scenarios::families {

inline constexpr int layers_per_iteration = 6;

/// Rows of the sequence, and what the names of their operations end with.
struct TokenRange {
  RowRange rows;
  std::string suffix;
};

/// All-reduce, add and norm in one kernel.
struct FusedReduction {
  Transport transport = Transport::peer_kernel;
  int attention_ctas = 0, mlp_ctas = 0;
};

/// The GEMMs that have a collective before (qkv and gate_up of a sequence-parallel layer) or after them.
enum class LayerPair { qkv, o, gate_up, down };

/// How the pairs run whose GEMM and collective overlap, by LayerPair; empty: one after the other.
struct OverlappedPairs {
  std::array<std::optional<ScheduleChoice>, 4> choices = {};
  const std::optional<ScheduleChoice>& of(LayerPair pair) const { return choices[static_cast<std::size_t>(pair)]; }
  std::optional<ScheduleChoice>& of(LayerPair pair) { return choices[static_cast<std::size_t>(pair)]; }
};

/// The pairs that a layer has, in its order: with experts those of the attention block alone.
std::vector<LayerPair> pairs_of(const LayerWorkload& layer);

/// Throws InputError where the layer cannot be split over the GPUs.
void check_tensor_parallel(const LayerWorkload& layer, int gpus);

/// The layer with these pairs overlapped. Throws InputError where they do not fit it.
Schedule build_layer(const Case& request, const LayerWorkload& layer, OverlappedPairs pairs, const Machine& machine);

class LayerProgram {
 public:
  /// Of a layer that can be split over the GPUs. With `fused`, on at least two GPUs and without sequence parallelism,
  /// what is reduced begins at a multiple of the GPUs.
  LayerProgram(const Case& request, const LayerWorkload& layer, std::optional<FusedReduction> fused = std::nullopt);
  /// With pairs that the layer has, of families that have add_pair(), and nothing left open. What is added to the layer
  /// is all of its tokens.
  LayerProgram(const Case& request, const LayerWorkload& layer, OverlappedPairs pairs, const Machine& machine);

  /// Weights of its own; what is added next belongs to this layer, and before the first of them to the last of the
  /// iteration before.
  void begin_layer(int index);
  /// qkv | rotary | attention to these rows and all earlier ones of their sequences | o; with fp8 inputs | quantize
  /// before o; of rows that decode beside others | decode attention | before the attention. A pair that overlaps stands
  /// in the place of its GEMM. Throws InputError where it does not fit the layer.
  void add_attention(const TokenRange& range);
  /// gate_up | swiglu | down, or with experts
  /// router | top_k | gather | grouped gate_up | swiglu | grouped down | weighted_sum
  /// and of a shared expert: shared gate_up | shared swiglu | shared down | add shared
  void add_mlp(const TokenRange& range);
  /// Of the partial sums that the block left: all_reduce | add + norm, or sequence-parallel, where `range` is all rows,
  /// reduce_scatter | add + norm on the own rows | all_gather. Fused, one kernel. Without the collectives that overlap
  /// with the GEMMs before or after.
  void add_attention_reduction(StreamId stream, const TokenRange& range);
  void add_mlp_reduction(StreamId stream, const TokenRange& range);

  TokenRange all_tokens() const { return {{0, tokens_}, ""}; }
  Program& program() { return program_; }
  Schedule finish() &&;

 private:
  LayerProgram(const Case& request, const LayerWorkload& layer, std::optional<FusedReduction> fused,
               OverlappedPairs pairs, const Machine* machine);
  /// Half of a layer: what reduces its partial sums, and what reads the rows that they become.
  struct Block {
    const char* name;
    LayerPair reduced_by, read_by;
  };
  struct Weights {
    BufferId qkv = 0, o = 0, router = 0, gate_up = 0, down = 0, shared_gate_up = 0, shared_down = 0;
    std::vector<BufferId> keys_values;  ///< of earlier tokens, sequence after sequence, by group of sequences
  };
  std::string name(const std::string& operation, const TokenRange& range) const {
    return layer_ + operation + range.suffix;
  }
  void add_attention_kernels(const TokenRange& range);
  Attention attention_of(const SequenceGroup& group, const RowRange& rows, BufferId cache) const;
  void add_gemm(const std::string& operation, const TokenRange& range, BufferId input, BufferId weight,
                BufferId output);
  void add_input_gemm(LayerPair pair, const std::string& gemm, const TokenRange& range, BufferId weight,
                      BufferId output);
  void add_output_gemm(LayerPair pair, const std::string& gemm, const TokenRange& range, BufferId input,
                       BufferId weight, BufferId& partial);
  Meaning add_pair(LayerPair pair, const std::string& gemm, PairOp op, NamedBuffers buffers);
  void add_experts(const TokenRange& range);
  void add_shared_expert(const TokenRange& range);
  void add_grouped_gemm(const std::string& operation, const TokenRange& range, BufferId input, BufferId weight,
                        BufferId output);
  void add_kernel(const std::string& operation, const TokenRange& range, MemoryKernel kernel, std::vector<Slice> reads,
                  const Slice& written);
  void add_reduction(StreamId stream, const Block& block, const TokenRange& range, BufferId partial);
  void add_fused_reduction(StreamId stream, const std::string& block, const TokenRange& range, BufferId partial,
                           int ctas);
  Collective collective(CollectiveKind kind, const Slice& input, const Slice& output) const;
  Slice rows(BufferId buffer, const TokenRange& range) const {
    return program_.rows(buffer, range.rows.first, range.rows.count);
  }

  /// A row for each expert that a token of the range goes to.
  Slice expert_rows_of(BufferId buffer, const TokenRange& range) const {
    const std::int64_t rows_of_token = layer_sizes_.experts_per_token;
    return program_.rows(buffer, range.rows.first * rows_of_token, range.rows.count * rows_of_token);
  }

  Program program_;
  const LayerWorkload layer_sizes_;
  const std::vector<SequenceGroup> sequence_groups_;
  const std::optional<FusedReduction> fused_;
  const OverlappedPairs pairs_;
  const Machine* machine_;  ///< null where no pair overlaps
  int gpus_;
  int max_ctas_;
  bool sequence_parallel_;
  int heads_, kv_heads_, head_dim_;  // of one GPU
  std::int64_t tokens_, hidden_, intermediate_;
  std::int64_t padded_tokens_;                 ///< fused: a multiple of the GPUs
  std::string layer_;                          ///< "layer 5 "
  int row_chunks_ = 1;                         ///< that the block's rows were gathered in
  int attention_chunks_ = 1, mlp_chunks_ = 1;  ///< the same of the last of each kind
  bool routes_all_tokens_ = true;              ///< the experts of a token do not depend on how tokens are split
  Weights weights_;
  BufferId normed_ = 0, residual_ = 0, reduced_ = 0, normed_rows_ = 0;
  BufferId qkv_ = 0, attended_ = 0, o_input_ = 0, attention_partial_ = 0;
  BufferId gate_up_ = 0, activated_ = 0, mlp_partial_ = 0;
  BufferId router_logits_ = 0, routing_weights_ = 0, expert_input_ = 0, expert_output_ = 0;  // with experts
  BufferId shared_gate_up_ = 0, shared_activated_ = 0, shared_output_ = 0;
};

}  // namespace weft::scenarios::families
