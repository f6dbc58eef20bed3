// transformer_layer, serial: one stream.
//
//   qkv | rotary | attention | o | all_reduce | add + norm | gate_up | swiglu | down | all_reduce | add + norm
//
// Sequence-parallel, each all_reduce | add + norm becomes reduce_scatter | add + norm on the own rows | all_gather.
#include "scenarios/families/families.hpp"
#include "scenarios/families/layer_program.hpp"

namespace weft::scenarios::families {

Schedule build_layer(const Case& request, const LayerWorkload& workload) {
  check_tensor_parallel(workload, request.gpus);
  LayerProgram layer(request, workload);
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

}  // namespace weft::scenarios::families
