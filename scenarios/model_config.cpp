#include "scenarios/model_config.hpp"

#include <nlohmann/json.hpp>

#include "models/json_object.hpp"
#include "scenarios/workload.hpp"

namespace weft::scenarios {
namespace {

std::int64_t head_dim_of(JsonObject& object, const ModelConfig& config) {
  // Files of models that follow the default hold no key, or null.
  if (const auto value = object.find("head_dim"); value && !value->is_null()) return value->integer(1, max_extent);
  if (config.hidden % config.heads != 0)
    throw InputError("head_dim", "expected this key, since num_attention_heads = " + std::to_string(config.heads) +
                                     " does not divide hidden_size = " + std::to_string(config.hidden));
  return config.hidden / config.heads;
}

/// The key was renamed from torch_dtype to dtype.
DataType weight_type(JsonObject& object) {
  const JsonValue type = object.has("dtype") ? object.at("dtype") : object.at("torch_dtype");
  if (type.string() != "bfloat16") type.fail("bfloat16");
  return DataType::bf16;
}

}  // namespace

ModelConfig model_config_from_json(const nlohmann::json& json) {
  JsonObject object(json);
  for (const char* key : {"num_experts", "num_local_experts", "n_routed_experts"})
    if (object.has(key)) throw InputError(key, "mixture-of-experts models are not available yet");
  ModelConfig config;
  config.hidden = object.integer("hidden_size", 1, max_extent);
  config.intermediate = object.integer("intermediate_size", 1, max_extent);
  config.heads = object.integer("num_attention_heads", 1, max_extent);
  config.kv_heads = object.integer("num_key_value_heads", 1, config.heads);
  config.head_dim = head_dim_of(object, config);
  config.layers = object.integer("num_hidden_layers", 1, max_extent);
  config.dtype = weight_type(object);
  return config;
}

ModelConfig read_model_config(const std::filesystem::path& path) {
  const nlohmann::json json = read_json_file(path);
  try {
    return model_config_from_json(json);
  } catch (const InputError& error) {
    throw error.in_file(path.string());
  }
}

}  // namespace weft::scenarios
