#include "scenarios/model_config.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "models/base/json_object.hpp"
#include "scenarios/model_defaults.hpp"
#include "scenarios/weight_type.hpp"
#include "scenarios/workload.hpp"

namespace weft::scenarios {
namespace {

constexpr const char* text_config = "text_config";

/// Left out and null mean the same.
bool has_value(JsonObject& object, const char* key) {
  const auto value = object.find(key);
  return value && !value->is_null();
}

/// 0 where the key holds nothing.
std::int64_t count_or_none(JsonObject& object, const char* key) {
  return has_value(object, key) ? object.integer(key, 0, max_extent) : 0;
}

/// The key's, or else the default of the model's class where it has one; else the key is needed.
std::int64_t count_or(JsonObject& object, const char* key, std::int64_t otherwise, std::int64_t most = max_extent) {
  if (otherwise > 0 && !has_value(object, key)) return std::min(otherwise, most);
  return object.integer(key, 1, most);
}

std::int64_t head_dim_of(JsonObject& object, const ModelConfig& config, const ModelDefaults& defaults) {
  if (has_value(object, "head_dim")) return object.integer("head_dim", 1, max_extent);
  if (defaults.head_dim > 0) return defaults.head_dim;
  if (config.hidden % config.heads != 0)
    throw InputError("head_dim", "expected this key, since num_attention_heads = " + std::to_string(config.heads) +
                                     " does not divide hidden_size = " + std::to_string(config.hidden));
  return config.hidden / config.heads;
}

void require_one(JsonObject& object, const char* key, const char* expected) {
  if (has_value(object, key) && object.integer(key, 0, max_extent) != 1) object.at(key).fail(expected);
}

void require_experts_in_every_layer(JsonObject& object) {
  for (const char* const key : {"decoder_sparse_step", "moe_layer_freq", "interleave_moe_layer_step"})
    require_one(object, key, "1: experts in every layer");
  if (has_value(object, "mlp_only_layers") && !object.at("mlp_only_layers").list().empty())
    object.at("mlp_only_layers").fail("none: experts in every layer");
}

/// Qwen's configs give the width of the shared expert (huggingface/transformers, models/qwen2_moe), DeepSeek's how many
/// of the routed ones' width it has (models/deepseek_v2: one MLP of moe_intermediate_size x n_shared_experts); Llama 4
/// always has one (models/llama4).
std::int64_t shared_width(JsonObject& object, std::int64_t width_of_expert, const std::string& type) {
  if (type == "llama4_text") return width_of_expert;
  if (has_value(object, "shared_expert_intermediate_size"))
    return count_or_none(object, "shared_expert_intermediate_size");
  const std::int64_t shared = count_or_none(object, "n_shared_experts");
  if (shared > max_extent / width_of_expert)
    object.at("n_shared_experts").fail("at most " + std::to_string(max_extent / width_of_expert));
  return shared * width_of_expert;
}

/// Experts by other keys than those that are read would be taken for a dense MLP.
void require_no_experts(JsonObject& object) {
  const auto has = [](const std::string& key, const char* word) { return key.find(word) != std::string::npos; };
  for (const auto& [key, value] : object.entries())
    if ((has(key, "expert") || has(key, "moe")) && value.is_number() && value.number() > 1)
      throw InputError(key,
                       "expected experts by num_local_experts, n_routed_experts or num_experts; those that other "
                       "keys tell of are not read");
}

/// Mixtral's configs name the experts num_local_experts, Qwen's num_experts, DeepSeek's n_routed_experts; the last two
/// give them a width of their own.
void read_mlp(JsonObject& object, const std::string& type, ModelConfig& config) {
  const char* const experts = has_value(object, "num_local_experts")  ? "num_local_experts"
                              : has_value(object, "n_routed_experts") ? "n_routed_experts"
                                                                      : "num_experts";
  if (!has_value(object, experts)) {
    require_no_experts(object);
    config.intermediate = object.integer("intermediate_size", 1, max_extent);
    return;
  }
  config.experts = object.integer(experts, 1, max_experts);
  config.experts_per_token = object.integer("num_experts_per_tok", 1, config.experts);
  const char* const width = has_value(object, "moe_intermediate_size") ? "moe_intermediate_size" : "intermediate_size";
  config.intermediate = object.integer(width, 1, max_extent);
  config.shared_intermediate = shared_width(object, config.intermediate, type);
  require_experts_in_every_layer(object);
}

/// Those with experts: DeepSeek's first few have none.
void read_layers(JsonObject& object, ModelConfig& config) {
  config.layers = object.integer("num_hidden_layers", 1, max_extent);
  if (config.experts == 0 || !has_value(object, "first_k_dense_replace")) return;
  const std::int64_t dense = object.integer("first_k_dense_replace", 0, config.layers - 1);
  if (dense > 0)
    config.ignored.push_back(dense == 1 ? "the first layer, which has no experts"
                                        : "the first " + std::to_string(dense) + " layers, which have no experts");
  config.layers -= dense;
}

LatentAttention latent_attention(JsonObject& object) {
  return {.query_rank = count_or_none(object, "q_lora_rank"),
          .key_value_rank = object.integer("kv_lora_rank", 1, max_extent),
          .rope_dim = object.integer("qk_rope_head_dim", 1, max_extent),
          .nope_dim = object.integer("qk_nope_head_dim", 1, max_extent),
          .value_dim = object.integer("v_head_dim", 1, max_extent)};
}

void read_attention(JsonObject& object, const ModelDefaults& defaults, ModelConfig& config) {
  config.heads = count_or(object, "num_attention_heads", defaults.heads);
  if (has_value(object, "kv_lora_rank")) {
    config.latent = latent_attention(object);
    config.kv_heads = config.heads;
    config.head_dim = config.latent->value_dim;
    config.ignored.emplace_back("whole layers: those with multi-head latent attention are not simulated");
    return;
  }
  const std::int64_t as_many = defaults.kv_heads > 0 ? defaults.kv_heads : config.heads;
  config.kv_heads = count_or(object, "num_key_value_heads", as_many, config.heads);
  config.head_dim = head_dim_of(object, config, defaults);
}

/// Attention that sees a window only is counted as if it saw all; other kinds of layers are none of ours.
void check_kinds_of_layers(JsonObject& object, ModelConfig& config) {
  const std::int64_t window = count_or_none(object, "sliding_window");
  const std::int64_t longest = count_or_none(object, "max_position_embeddings");
  bool has_window = window > 0 && (longest == 0 || window < longest);
  if (const auto use = object.find("use_sliding_window"); use && !use->is_null())
    has_window = has_window && use->boolean();
  if (has_value(object, "layer_types"))
    for (const JsonValue& kind : object.list("layer_types")) {
      const std::string name = kind.string();
      has_window = has_window || (name == "sliding_attention" && (longest == 0 || window < longest)) ||
                   name == "chunked_attention";
      if (!name.ends_with("_attention") || name == "linear_attention") kind.fail("attention in every layer");
    }
  if (has_value(object, "attn_type_list"))  // MiniMax: 1 is attention, 0 linear attention
    for (const JsonValue& kind : object.list("attn_type_list"))
      if (kind.integer() != 1) kind.fail("1, attention in every layer");
  if (has_window) config.ignored.emplace_back("sliding windows: attention is counted as if it saw all tokens");
}

void require_modelled(JsonObject& whole, const std::string& type) {
  if (const std::string_view reason = why_not_modelled(type); !reason.empty())
    throw InputError("model_type", "expected " + std::string(reason) + ", got \"" + type + "\"");
  if (const auto has_encoder = whole.find("is_encoder_decoder");
      has_encoder && !has_encoder->is_null() && has_encoder->boolean())
    has_encoder->fail("false: a decoder only");
}

}  // namespace

bool is_model_config(const nlohmann::json& json) {
  if (!json.is_object() || json.contains("format")) return false;
  return std::ranges::any_of(std::array{"model_type", "hidden_size", "num_hidden_layers", text_config},
                             [&](const char* key) { return json.contains(key); });
}

ModelConfig model_config_from_json(const nlohmann::json& json) {
  JsonObject whole(json);
  const bool is_nested = has_value(whole, text_config);
  JsonObject object = is_nested ? whole.object(text_config) : whole;
  ModelConfig config;
  if (is_nested && (has_value(whole, "vision_config") || has_value(whole, "audio_config")))
    config.ignored.emplace_back("what reads images or sound: only the text model is counted");
  const std::string type = has_value(object, "model_type") ? object.string("model_type") : "";
  require_modelled(whole, type);
  if (!type.empty() && !is_known(type) && !has_value(object, "hidden_size"))
    throw InputError("model_type", "expected a decoder whose config has hidden_size, got " + shown_name(type));
  if (!type.empty() && !is_known(type))
    config.ignored.push_back("what is special to model_type \"" + type +
                             "\", which is taken for a decoder with a gated MLP");
  if (has_norm_before_sum(type))
    config.ignored.emplace_back(
        "norms of what a block adds, before it is added: no kernel fuses them with an all-reduce");
  config.hidden = object.integer("hidden_size", 1, max_extent);
  read_mlp(object, type, config);
  read_attention(object, defaults_of(type), config);
  check_kinds_of_layers(object, config);
  read_layers(object, config);
  const WeightType weights = weight_type(whole, object, config.experts > 0, config.ignored);
  config.dtype = weights.gemms;
  config.weight_bytes = weights.bytes;
  config.expert_bytes = weights.expert_bytes;
  if (count_or_none(object, "num_nextn_predict_layers") > 0)
    config.ignored.emplace_back("layers that predict further tokens");
  return config;
}

double packed_bits(double bytes, DataType dtype) {
  return bytes < static_cast<double>(bytes_of(dtype)) ? 8 * bytes : 0;
}

std::optional<LayerWorkload> layer_of(const ModelConfig& model, std::int64_t tokens) {
  if (model.latent) return std::nullopt;
  LayerWorkload layer;
  layer.tokens = tokens;
  layer.hidden = model.hidden;
  layer.heads = model.heads;
  layer.kv_heads = model.kv_heads;
  layer.head_dim = model.head_dim;
  layer.intermediate = model.intermediate;
  layer.dtype = model.dtype;
  layer.weight_bits = packed_bits(model.weight_bytes, model.dtype);
  layer.shared_intermediate = model.shared_intermediate;
  if (model.experts == 0) return layer;
  layer.experts = model.experts;
  layer.experts_per_token = model.experts_per_token;
  layer.expert_choice = ExpertChoice::random;
  layer.expert_bits = packed_bits(model.expert_bytes, model.dtype);
  return layer;
}

ModelConfig read_model_config(const std::filesystem::path& path) {
  const std::filesystem::path file = std::filesystem::is_directory(path) ? path / "config.json" : path;
  const nlohmann::json json = read_json_file(file);
  try {
    return model_config_from_json(json);
  } catch (const InputError& error) {
    throw error.in_file(file.string());
  }
}

}  // namespace weft::scenarios
