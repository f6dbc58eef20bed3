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

/// Mixtral's configs name the experts num_local_experts, Qwen's num_experts with a width of their own. DeepSeek's have
/// shared experts beside the routed ones, which no workload has.
void read_mlp(JsonObject& object, ModelConfig& config) {
  if (object.has("n_routed_experts"))
    throw InputError("n_routed_experts", "expected a model without shared experts, which are not available");
  const char* const experts = object.has("num_local_experts") ? "num_local_experts" : "num_experts";
  if (!object.has(experts)) {
    config.intermediate = object.integer("intermediate_size", 1, max_extent);
    return;
  }
  config.experts = object.integer(experts, 1, max_experts);
  config.experts_per_token = object.integer("num_experts_per_tok", 1, config.experts);
  const char* const width = object.has("moe_intermediate_size") ? "moe_intermediate_size" : "intermediate_size";
  config.intermediate = object.integer(width, 1, max_extent);
  if (object.has("decoder_sparse_step") && object.integer("decoder_sparse_step", 0, max_extent) != 1)
    object.at("decoder_sparse_step").fail("1: experts in every layer");
}

}  // namespace

ModelConfig model_config_from_json(const nlohmann::json& json) {
  JsonObject object(json);
  ModelConfig config;
  config.hidden = object.integer("hidden_size", 1, max_extent);
  read_mlp(object, config);
  config.heads = object.integer("num_attention_heads", 1, max_extent);
  config.kv_heads = object.integer("num_key_value_heads", 1, config.heads);
  config.head_dim = head_dim_of(object, config);
  config.layers = object.integer("num_hidden_layers", 1, max_extent);
  config.dtype = weight_type(object);
  return config;
}

LayerWorkload layer_of(const ModelConfig& model, std::int64_t tokens) {
  LayerWorkload layer;
  layer.tokens = tokens;
  layer.hidden = model.hidden;
  layer.heads = model.heads;
  layer.kv_heads = model.kv_heads;
  layer.head_dim = model.head_dim;
  layer.intermediate = model.intermediate;
  layer.dtype = model.dtype;
  layer.experts = model.experts;
  layer.experts_per_token = model.experts_per_token;
  return layer;
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
