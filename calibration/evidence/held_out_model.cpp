#include "calibration/evidence/held_out_model.hpp"

#include <algorithm>
#include <array>

namespace weft::calibration::evidence {

using scenarios::ModelConfig;

LayerGemms held_out_gemms(int gpus) {
  const ModelConfig& model = held_out_model;
  const std::int64_t queries = model.heads * model.head_dim / gpus;
  const std::int64_t keys_and_values = 2 * model.kv_heads * model.head_dim / gpus;
  return {.qkv = {queries + keys_and_values, model.hidden},
          .attention_out = {model.hidden, queries},
          .gate_and_up = {2 * model.intermediate / gpus, model.hidden},
          .down = {model.hidden, model.intermediate / gpus}};
}

bool is_held_out(const MatrixWidths& widths) {
  constexpr std::array gpu_counts{1, 2, 4, 8};
  return std::any_of(gpu_counts.begin(), gpu_counts.end(), [&](int gpus) {
    const LayerGemms gemms = held_out_gemms(gpus);
    return widths == gemms.qkv || widths == gemms.attention_out || widths == gemms.gate_and_up || widths == gemms.down;
  });
}

}  // namespace weft::calibration::evidence
