// In which type a model's GEMMs compute, and how its weights are stored, from the keys of its config.json.
#pragma once

#include <string>
#include <vector>

#include "models/base/json_object.hpp"
#include "models/schedule/schedule.hpp"

namespace weft::scenarios {

struct WeightType {
  DataType gemms = DataType::bf16;  ///< of their inputs
  double bytes = 2;                 ///< of a weight in memory, the scales of its group included
  double expert_bytes = bytes;      ///< of the experts'
};

/// `model` has torch_dtype or dtype, or `whole`, of which it may be the text_config; that has the quantization_config.
/// A model with experts may have these alone quantized. What is counted otherwise than the file says is added to
/// `ignored`. Throws InputError for types that are not modelled: float32, products of 8-bit integers, 4-bit inputs.
WeightType weight_type(JsonObject& whole, JsonObject& model, bool has_experts, std::vector<std::string>& ignored);

}  // namespace weft::scenarios
