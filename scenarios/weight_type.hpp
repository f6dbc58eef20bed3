// In which type a model's GEMMs compute, from the keys of its config.json.
#pragma once

#include <string>
#include <vector>

#include "models/base/json_object.hpp"
#include "models/schedule/schedule.hpp"

namespace weft::scenarios {

/// `model` has torch_dtype or dtype, or `whole`, of which it may be the text_config; that has the quantization_config.
/// What is counted otherwise than the file says is added to `ignored`. Throws InputError for types that are not
/// modelled: float32, 8-bit integers, 4-bit inputs.
DataType gemm_type(JsonObject& whole, JsonObject& model, std::vector<std::string>& ignored);

}  // namespace weft::scenarios
