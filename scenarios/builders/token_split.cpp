// token_split, as TokenWeave does it: a prefix of the sequence (split 1) and the rest (split 2) take turns, so that one
// is computed while the partial sums of the other are reduced and normed.
//
//   s0: attention 1          | attention 2      | MLP 1            | MLP 2
//   s1: F of the MLP 2 before | F of attention 1 | F of attention 2 | F of MLP 1       F = all_reduce | add + norm
//
// Each step begins with both streams at one point and ends when both are done. Attention 2 reads the keys and values of
// split 1. The first F of an iteration takes what the last layer of the iteration before has left.
#include <algorithm>
#include <limits>

#include "models/gemm_model.hpp"
#include "models/input_error.hpp"
#include "scenarios/builders/families.hpp"
#include "scenarios/builders/layer_program.hpp"

namespace weft::scenarios {
namespace {

constexpr std::int64_t tile_rows = 128;  // of most GEMM kernels

const LayerWorkload& layer_of(const Case& request) {
  const auto* layer = std::get_if<LayerWorkload>(&request.workload);
  if (!layer)
    throw InputError("schedule.family", "expected the op that token_split has (transformer_layer), got " +
                                            std::string(op_of(request.workload)));
  if (request.gpus < 2)
    throw InputError("gpus", "expected at least 2 for a reduction to overlap, got " + std::to_string(request.gpus));
  if (layer->sequence_parallel)
    throw InputError("workload.sequence_parallel", "expected false: token_split overlaps all-reduces");
  check_tensor_parallel(*layer, request.gpus);
  return *layer;
}

std::int64_t checked_first(std::int64_t first, const LayerWorkload& layer) {
  if (first >= layer.tokens)
    throw InputError("schedule.first", "expected fewer than the " + std::to_string(layer.tokens) + " tokens, got " +
                                           std::to_string(first));
  return first;
}

/// The layer's four GEMMs over some rows, each alone.
double gemms_us(std::int64_t rows, const LayerWorkload& layer, int gpus, const Machine& machine) {
  const std::int64_t attended = layer.heads * layer.head_dim / gpus, width = layer.intermediate / gpus;
  const std::int64_t keys = std::max<std::int64_t>(layer.kv_heads / gpus, 1) * layer.head_dim;
  double total_us = 0;
  for (const MatrixSize& size : {MatrixSize{rows, attended + 2 * keys, layer.hidden},
                                 {rows, layer.hidden, attended},
                                 {rows, 2 * width, layer.hidden},
                                 {rows, layer.hidden, width}})
    total_us += estimated_gemm_us(machine, size, choose_gemm_kernel(machine, size));
  return total_us;
}

}  // namespace

TokenSplit searched_token_split(const Case& request, const Machine& machine) {
  const LayerWorkload& layer = layer_of(request);
  auto split = std::get<TokenSplit>(request.schedule.family);
  const std::int64_t half = (layer.tokens + 1) / 2;
  split.first = half;
  double least_us = std::numeric_limits<double>::infinity();
  for (const std::int64_t offset : {0, 1, -1, 2, -2}) {
    const std::int64_t first = (half / tile_rows + offset) * tile_rows;
    if (first < 1 || first >= layer.tokens) continue;
    const double time_us =
        gemms_us(first, layer, request.gpus, machine) + gemms_us(layer.tokens - first, layer, request.gpus, machine);
    if (time_us < least_us) split.first = first, least_us = time_us;
  }
  return split;
}

Schedule build_token_split(const Case& request) {
  const LayerWorkload& workload = layer_of(request);
  const auto& split = std::get<TokenSplit>(request.schedule.family);
  if (split.fused_norm)
    throw InputError("schedule.fused_norm", "expected false: the fused all-reduce and norm is not available yet");
  const std::int64_t first = checked_first(*split.first, workload);
  const TokenRange one{{0, first}, " of split 1"}, two{{first, workload.tokens - first}, " of split 2"};

  LayerProgram layer(request, workload);
  Program& program = layer.program();
  const StreamId s1 = program.add_stream("s1", highest_priority);
  const auto step = [&](const auto& reduce, const auto& compute) {
    program.wait(s1, main_stream);
    reduce();
    compute();
    program.wait(main_stream, s1);
  };
  for (int index = 0; index < layers_per_iteration; ++index) {
    step([&] { layer.add_mlp_reduction(s1, two); },
         [&] {
           layer.begin_layer(index);
           layer.add_attention(one);
         });
    step([&] { layer.add_attention_reduction(s1, one); }, [&] { layer.add_attention(two); });
    step([&] { layer.add_attention_reduction(s1, two); }, [&] { layer.add_mlp(one); });
    step([&] { layer.add_mlp_reduction(s1, one); }, [&] { layer.add_mlp(two); });
  }
  return std::move(layer).finish();
}

}  // namespace weft::scenarios
