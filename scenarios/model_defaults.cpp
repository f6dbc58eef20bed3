#include "scenarios/model_defaults.hpp"

#include <algorithm>
#include <array>

namespace weft::scenarios {
namespace {

struct Known {
  std::string_view type;
  ModelDefaults defaults;
};

/// huggingface/transformers, src/transformers/models/TYPE/configuration_TYPE.py.
constexpr std::array known{
    Known{"gemma", {16, 16, 256}},   Known{"gemma2", {8, 4, 256}},  Known{"gemma3_text", {8, 4, 256}},
    Known{"mistral", {32, 8, 0}},    Known{"mixtral", {32, 8, 0}},  Known{"qwen2", {32, 32, 0}},
    Known{"qwen2_moe", {16, 16, 0}}, Known{"qwen3", {32, 32, 128}}, Known{"qwen3_moe", {32, 4, 0}},
    Known{"glm", {32, 2, 128}},      Known{"glm4", {32, 2, 128}},   Known{"glm4_moe", {96, 8, 0}},
    Known{"gpt_oss", {64, 8, 64}}};

/// Decoders of the same kind whose configs say all that is needed.
constexpr std::array<std::string_view, 18> as_llama{
    "llama", "llama4_text", "deepseek_v2", "deepseek_v3", "kimi_k2",  "minimax_m2", "phi3",    "granite", "olmo",
    "olmo2", "olmo3",       "olmoe",       "smollm3",     "seed_oss", "ernie4_5",   "exaone4", "helium",  "dots1"};

/// modeling_TYPE.py: post_attention_layernorm and post_feedforward_layernorm of a block's output.
constexpr std::array<std::string_view, 6> norm_before_sum{"gemma2", "gemma3_text", "glm4", "olmo2", "olmo3", "exaone4"};

struct Other {
  std::string_view type, reason;
};

constexpr std::string_view no_gate = "a gated MLP (gate and up projections), which these layers have not";
constexpr std::string_view no_attention = "attention in every layer";
constexpr std::array others{Other{"bloom", no_gate},
                            Other{"falcon", no_gate},
                            Other{"gpt2", no_gate},
                            Other{"gpt_bigcode", no_gate},
                            Other{"gpt_neox", no_gate},
                            Other{"gptj", no_gate},
                            Other{"nemotron", no_gate},
                            Other{"opt", no_gate},
                            Other{"phi", no_gate},
                            Other{"starcoder2", no_gate},
                            Other{"bamba", no_attention},
                            Other{"falcon_h1", no_attention},
                            Other{"jamba", no_attention},
                            Other{"lfm2", no_attention},
                            Other{"mamba", no_attention},
                            Other{"mamba2", no_attention},
                            Other{"nemotron_h", no_attention},
                            Other{"qwen3_next", no_attention},
                            Other{"recurrent_gemma", no_attention},
                            Other{"rwkv", no_attention},
                            Other{"zamba2", no_attention}};

}  // namespace

ModelDefaults defaults_of(std::string_view model_type) {
  const auto found = std::ranges::find(known, model_type, &Known::type);
  return found == known.end() ? ModelDefaults{} : found->defaults;
}

bool is_known(std::string_view model_type) {
  return std::ranges::find(known, model_type, &Known::type) != known.end() ||
         std::ranges::find(as_llama, model_type) != as_llama.end();
}

bool has_norm_before_sum(std::string_view model_type) {
  return std::ranges::find(norm_before_sum, model_type) != norm_before_sum.end();
}

std::string_view why_not_modelled(std::string_view model_type) {
  const auto found = std::ranges::find(others, model_type, &Other::type);
  return found == others.end() ? std::string_view{} : found->reason;
}

}  // namespace weft::scenarios
