#include "scenarios/model_config.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/models/error_of.hpp"
#include "tests/source_folder.hpp"

namespace weft::scenarios {
namespace {

using nlohmann::json;

const std::filesystem::path shipped =
    std::filesystem::path(tests::source_folder()) / "scenarios/models/llama-3.3-70b.config.json";

json small_config() {
  return json::parse(R"({"hidden_size": 64, "intermediate_size": 256, "num_attention_heads": 8,
      "num_key_value_heads": 4, "head_dim": 16, "num_hidden_layers": 2, "torch_dtype": "bfloat16"})");
}

std::string error_with(const std::string& key, const json& value) {
  json config = small_config();
  config[key] = value;
  return error_of([&] { model_config_from_json(config); });
}

TEST(ModelConfig, ReadsTheShippedLlama) {
  EXPECT_EQ(read_model_config(shipped), (ModelConfig{.hidden = 8192,
                                                     .intermediate = 28672,
                                                     .heads = 64,
                                                     .kv_heads = 8,
                                                     .head_dim = 128,
                                                     .layers = 80,
                                                     .dtype = DataType::bf16}));
}

TEST(ModelConfig, IgnoresWhatItDoesNotNeed) { EXPECT_EQ(error_with("rope_theta", 500000.0), ""); }

TEST(ModelConfig, NamesAMissingKey) {
  for (const std::string key : {"hidden_size", "intermediate_size", "num_attention_heads", "num_key_value_heads",
                                "num_hidden_layers", "torch_dtype"}) {
    json config = small_config();
    config.erase(key);
    EXPECT_EQ(error_of([&] { model_config_from_json(config); }).rfind(key + ": expected", 0), 0) << key;
  }
}

TEST(ModelConfig, LeftOutHeadDimIsHiddenOverHeads) {
  json config = small_config();
  config.erase("head_dim");
  EXPECT_EQ(model_config_from_json(config).head_dim, 64 / 8);
  config["num_attention_heads"] = 7;
  EXPECT_EQ(error_of([&] { model_config_from_json(config); }).rfind("head_dim: expected", 0), 0);
}

TEST(ModelConfig, ReadsExperts) {
  json config = small_config();
  config["num_local_experts"] = 8;
  config["num_experts_per_tok"] = 2;
  EXPECT_EQ(model_config_from_json(config).experts, 8);
  EXPECT_EQ(model_config_from_json(config).experts_per_token, 2);
  EXPECT_EQ(layer_of(model_config_from_json(config), 100).experts, 8);
  config["moe_intermediate_size"] = 48;
  EXPECT_EQ(model_config_from_json(config).intermediate, 48);
}

json experts_config() {
  json config = small_config();
  config["num_experts"] = 8;
  config["num_experts_per_tok"] = 2;
  config["moe_intermediate_size"] = 48;
  return config;
}

TEST(ModelConfig, ReadsASharedExpertByItsWidth) {
  json config = experts_config();
  EXPECT_EQ(model_config_from_json(config).shared_intermediate, 0);
  config["shared_expert_intermediate_size"] = 160;
  EXPECT_EQ(model_config_from_json(config).intermediate, 48);
  EXPECT_EQ(model_config_from_json(config).shared_intermediate, 160);
  EXPECT_EQ(layer_of(model_config_from_json(config), 100).shared_intermediate, 160);
}

TEST(ModelConfig, SharedExpertsByNumberAreOneOfTheirWidthsTogether) {
  json config = experts_config();
  config.erase("num_experts");
  config["n_routed_experts"] = 8;
  config["n_shared_experts"] = 2;
  EXPECT_EQ(model_config_from_json(config).experts, 8);
  EXPECT_EQ(model_config_from_json(config).shared_intermediate, 2 * 48);
  config["n_shared_experts"] = nullptr;
  EXPECT_EQ(model_config_from_json(config).shared_intermediate, 0);
}

TEST(ModelConfig, CountsTheLayersWithExperts) {
  json config = experts_config();
  config["first_k_dense_replace"] = 1;
  EXPECT_EQ(model_config_from_json(config).layers, 1);
  config["first_k_dense_replace"] = 2;
  EXPECT_NE(error_of([&] { model_config_from_json(config); }), "");
}

TEST(ModelConfig, ExpertsInSomeLayersAreRefused) {
  json config = experts_config();
  config["mlp_only_layers"] = json::array();
  config["moe_layer_freq"] = 1;
  EXPECT_EQ(model_config_from_json(config).experts, 8);
  config["mlp_only_layers"] = {0};
  EXPECT_EQ(error_of([&] { model_config_from_json(config); }).rfind("mlp_only_layers: expected none", 0), 0);
  config.erase("mlp_only_layers");
  config["moe_layer_freq"] = 2;
  EXPECT_EQ(error_of([&] { model_config_from_json(config); }).rfind("moe_layer_freq: expected 1", 0), 0);
}

TEST(ModelConfig, ReadsTheNewNameOfTheWeightType) {
  json config = small_config();
  config.erase("torch_dtype");
  config["dtype"] = "bfloat16";
  EXPECT_EQ(model_config_from_json(config).dtype, DataType::bf16);
}

TEST(ModelConfig, RefusesWhatItCannotMean) {
  EXPECT_EQ(error_with("torch_dtype", "float16"), "torch_dtype: expected bfloat16, got \"float16\"");
  EXPECT_EQ(error_with("kv_lora_rank", 512),
            "kv_lora_rank: expected a model without multi-head latent attention, which is not available");
  EXPECT_NE(error_with("num_local_experts", 8), "");  // of which each token goes to how many?
  EXPECT_NE(error_with("hidden_size", 0), "");
  EXPECT_NE(error_with("num_key_value_heads", 9), "");
}

TEST(ModelConfig, AMissingFileIsNamed) {
  EXPECT_EQ(error_of([] { read_model_config("no/such/config.json"); }).rfind("no/such/config.json", 0), 0);
}

}  // namespace
}  // namespace weft::scenarios
