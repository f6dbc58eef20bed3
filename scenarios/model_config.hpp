// The sizes of a decoder-only transformer, read from the config.json that Hugging Face ships with its weights.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>

#include "models/schedule/schedule.hpp"
#include "scenarios/workload.hpp"

namespace weft::scenarios {

struct ModelConfig {
  std::int64_t hidden = 0, intermediate = 0, heads = 0, kv_heads = 0, head_dim = 0, layers = 0;
  std::int64_t experts = 0, experts_per_token = 0;  ///< 0: dense; else `intermediate` is the width of each expert
  std::int64_t shared_intermediate = 0;             ///< width of a dense MLP beside the experts; 0: none
  DataType dtype = DataType::bf16;
  bool operator==(const ModelConfig&) const = default;
};

/// A foreign file: keys that are not needed are ignored. Throws InputError for one that is needed and missing, for
/// experts that are not alike in every layer, for multi-head latent attention, and for weights that are not bfloat16.
/// Dense layers before the first one with experts (first_k_dense_replace) do not count among `layers`. `head_dim` may
/// be left out, as that format allows: then it is hidden_size / num_attention_heads, which must be a whole number.
ModelConfig model_config_from_json(const nlohmann::json& json);

/// The same from a file; errors name the file.
ModelConfig read_model_config(const std::filesystem::path& path);

/// One of the model's layers.
LayerWorkload layer_of(const ModelConfig& model, std::int64_t tokens);

}  // namespace weft::scenarios
