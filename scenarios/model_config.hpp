// The sizes of a decoder-only transformer, read from the config.json that Hugging Face ships with its weights, as the
// transformers library reads it: what a file leaves out has the default of its model_type (model_defaults.hpp).
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "models/schedule/schedule.hpp"
#include "scenarios/workload.hpp"

namespace weft::scenarios {

/// DeepSeek's multi-head latent attention: queries, and keys with values, are projected down to a rank that all heads
/// share, and up again for each head.
struct LatentAttention {
  std::int64_t query_rank = 0;  ///< 0: queries are projected directly
  std::int64_t key_value_rank = 0, rope_dim = 0, nope_dim = 0, value_dim = 0;
  bool operator==(const LatentAttention&) const = default;
};

struct ModelConfig {
  std::int64_t hidden = 0, intermediate = 0, heads = 0, kv_heads = 0, head_dim = 0, layers = 0;
  std::int64_t experts = 0, experts_per_token = 0;  ///< 0: dense; else `intermediate` is the width of each expert
  std::int64_t shared_intermediate = 0;             ///< width of a dense MLP beside the experts; 0: none
  DataType dtype = DataType::bf16;                  ///< of the GEMMs' inputs
  double weight_bytes = 2, expert_bytes = 2;        ///< of a weight in memory, of the experts'
  std::optional<LatentAttention> latent = {};       ///< then `head_dim` is that of a value
  std::vector<std::string> ignored = {};            ///< what the file says and the sizes do not, a sentence each
  bool operator==(const ModelConfig&) const = default;
};

/// Whether a document is such a file: it has a model's sizes, or a text_config with them, and is no scenario.
bool is_model_config(const nlohmann::json& json);

/// A foreign file: keys that are not needed are ignored; what is lost by that is said in `ignored`. A text_config is
/// read in place of the whole. GEMMs are fp8 where quantization_config says that inputs are, else bf16. Throws
/// InputError for a key that is needed and missing, for layers that are not alike (experts in some, attention in some),
/// MLPs without a gate, and types that GEMMs here do not have. Dense layers before the first one with experts
/// (first_k_dense_replace) do not count among `layers`.
ModelConfig model_config_from_json(const nlohmann::json& json);

/// The same from a file, or from the config.json of a folder; errors name the file.
ModelConfig read_model_config(const std::filesystem::path& path);

/// Of a weight that is stored in so many bytes for GEMMs of `dtype`, as workloads have it; 0: it is stored as they
/// read it.
double packed_bits(double bytes, DataType dtype);

/// One of the model's layers; empty with latent attention, which layers do not have.
std::optional<LayerWorkload> layer_of(const ModelConfig& model, std::int64_t tokens);

}  // namespace weft::scenarios
