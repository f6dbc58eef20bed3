// transformer_layer on one stream, and with overlap inside of its pairs of a GEMM and a collective.
//
//   serial      qkv | rotary | attention | o | all_reduce | add + norm | gate_up | swiglu | down | all_reduce | …
//   overlapped  qkv | rotary | attention | [ o and its all_reduce ] | add + norm | gate_up | swiglu | [ down and … ]
//
// Sequence-parallel, each all_reduce | add + norm becomes reduce_scatter | add + norm on the own rows | all_gather; the
// all_gather then forms a pair with the GEMM behind it. Other streams fork where a pair begins, and are joined where it
// ends. Ranks own rows in the order in which chunks leave them: a pair scatters as the one before it gathered.
#include "models/base/input_error.hpp"
#include "scenarios/families/families.hpp"
#include "scenarios/families/layer_program.hpp"
#include "scenarios/family_rules.hpp"

namespace weft::scenarios::families {
namespace {

Schedule add_layers(LayerProgram layer) {
  const TokenRange all = layer.all_tokens();
  for (int index = 0; index < layers_per_iteration; ++index) {
    layer.begin_layer(index);
    layer.add_attention(all);
    layer.add_attention_reduction(main_stream, all);
    layer.add_mlp(all);
    layer.add_mlp_reduction(main_stream, all);
  }
  return std::move(layer).finish();
}

/// The choice for a pair that has an all-gather, or for one that reduces: each knows one key of async_tp.
ScheduleChoice choice_for(LayerPair pair, ScheduleChoice choice) {
  if (auto* async = std::get_if<AsyncTp>(&choice.family)) {
    const bool gathers = pair == LayerPair::qkv || pair == LayerPair::gate_up;
    gathers ? void(async->form = AsyncForm::all_to_all) : void(async->input = AsyncInput::copied);
  }
  return choice;
}

/// All that the layer has.
OverlappedPairs all_pairs(const Case& request, const LayerWorkload& layer) {
  if (std::holds_alternative<AsyncTp>(request.schedule.family) && !layer.sequence_parallel)
    throw InputError("workload.sequence_parallel",
                     "expected true: async_tp overlaps all-gathers and reduce-scatters, not all-reduces");
  OverlappedPairs pairs;
  for (const LayerPair pair : pairs_of(layer)) pairs.of(pair) = choice_for(pair, request.schedule);
  return pairs;
}

}  // namespace

Schedule build_layer(const Case& request, const LayerWorkload& workload) {
  check_tensor_parallel(workload, request.gpus);
  return add_layers(LayerProgram(request, workload));
}

Schedule build_layer(const Case& request, const LayerWorkload& layer, OverlappedPairs pairs, const Machine& machine) {
  if (request.gpus < 2)
    throw InputError("gpus", "expected at least 2 for a transfer to overlap, got " + std::to_string(request.gpus));
  check_tensor_parallel(layer, request.gpus);
  return add_layers(LayerProgram(request, layer, std::move(pairs), machine));
}

Schedule build_pairs(const Case& request, const Machine& machine) {
  if (const auto* layer = std::get_if<LayerWorkload>(&request.workload))
    return build_layer(request, *layer, all_pairs(request, *layer), machine);
  Program program(request);
  rules_of(request.schedule.family).add_pair(program, request, machine);
  return std::move(program).finish();
}

}  // namespace weft::scenarios::families
