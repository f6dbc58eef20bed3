#include "scenarios/model_config.hpp"

#include <nlohmann/json.hpp>

#include "models/base/json_object.hpp"
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

/// Left out and null mean the same.
bool has_value(JsonObject& object, const char* key) {
  const auto value = object.find(key);
  return value && !value->is_null();
}

/// 0 where the key holds nothing.
std::int64_t count_or_none(JsonObject& object, const char* key) {
  return has_value(object, key) ? object.integer(key, 0, max_extent) : 0;
}

void require_experts_in_every_layer(JsonObject& object) {
  for (const char* const key : {"decoder_sparse_step", "moe_layer_freq"})
    if (object.has(key) && object.integer(key, 0, max_extent) != 1) object.at(key).fail("1: experts in every layer");
  if (has_value(object, "mlp_only_layers") && !object.at("mlp_only_layers").list().empty())
    object.at("mlp_only_layers").fail("none: experts in every layer");
}

/// Qwen's configs give the width of the shared expert (huggingface/transformers, models/qwen2_moe), DeepSeek's how many
/// of the routed ones' width it has (models/deepseek_v2: one MLP of moe_intermediate_size x n_shared_experts).
std::int64_t shared_width(JsonObject& object, std::int64_t width_of_expert) {
  if (has_value(object, "shared_expert_intermediate_size"))
    return count_or_none(object, "shared_expert_intermediate_size");
  const std::int64_t shared = count_or_none(object, "n_shared_experts");
  if (shared > max_extent / width_of_expert)
    object.at("n_shared_experts").fail("at most " + std::to_string(max_extent / width_of_expert));
  return shared * width_of_expert;
}

/// Mixtral's configs name the experts num_local_experts, Qwen's num_experts, DeepSeek's n_routed_experts; the last two
/// give them a width of their own.
void read_mlp(JsonObject& object, ModelConfig& config) {
  const char* const experts = object.has("num_local_experts")         ? "num_local_experts"
                              : has_value(object, "n_routed_experts") ? "n_routed_experts"
                                                                      : "num_experts";
  if (!object.has(experts)) {
    config.intermediate = object.integer("intermediate_size", 1, max_extent);
    return;
  }
  config.experts = object.integer(experts, 1, max_experts);
  config.experts_per_token = object.integer("num_experts_per_tok", 1, config.experts);
  const char* const width = object.has("moe_intermediate_size") ? "moe_intermediate_size" : "intermediate_size";
  config.intermediate = object.integer(width, 1, max_extent);
  config.shared_intermediate = shared_width(object, config.intermediate);
  require_experts_in_every_layer(object);
}

/// Those with experts: DeepSeek's first few have none.
std::int64_t layer_count(JsonObject& object, const ModelConfig& config) {
  const std::int64_t layers = object.integer("num_hidden_layers", 1, max_extent);
  if (config.experts == 0 || !has_value(object, "first_k_dense_replace")) return layers;
  return layers - object.integer("first_k_dense_replace", 0, layers - 1);
}

/// Keys and values that all heads share in a compressed form are another attention than the layers' one.
void require_heads_of_their_own(JsonObject& object) {
  if (has_value(object, "kv_lora_rank"))
    throw InputError("kv_lora_rank", "expected a model without multi-head latent attention, which is not available");
}

}  // namespace

ModelConfig model_config_from_json(const nlohmann::json& json) {
  JsonObject object(json);
  ModelConfig config;
  config.hidden = object.integer("hidden_size", 1, max_extent);
  read_mlp(object, config);
  require_heads_of_their_own(object);
  config.heads = object.integer("num_attention_heads", 1, max_extent);
  config.kv_heads = object.integer("num_key_value_heads", 1, config.heads);
  config.head_dim = head_dim_of(object, config);
  config.layers = layer_count(object, config);
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
  layer.shared_intermediate = model.shared_intermediate;
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
