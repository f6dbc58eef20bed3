#include "scenarios/model_config.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/models/error_of.hpp"
#include "tests/source_folder.hpp"
#include "tests/temporary_folder.hpp"

namespace weft::scenarios {
namespace model_config_test {

using nlohmann::json;

const std::filesystem::path shipped =
    std::filesystem::path(tests::source_folder()) / "scenarios/models/llama-3.3-70b.config.json";

json small_config() {
  return json::parse(R"({"model_type": "llama", "hidden_size": 64, "intermediate_size": 256, "num_attention_heads": 8,
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
  for (const std::string key : {"hidden_size", "intermediate_size", "num_attention_heads", "num_hidden_layers"}) {
    json config = small_config();
    config.erase(key);
    EXPECT_EQ(error_of([&] { model_config_from_json(config); }).rfind(key + ": expected", 0), 0) << key;
  }
}

TEST(ModelConfig, IsOneWithoutItsHiddenSizeAndType) {
  json config = small_config();
  config.erase("hidden_size");
  config.erase("model_type");
  EXPECT_TRUE(is_model_config(config));
}

TEST(ModelConfig, SaysWhatItTakesAnUnknownTypeFor) {
  json config = small_config();
  EXPECT_THAT(model_config_from_json(config).ignored, testing::IsEmpty());
  config["model_type"] = "brand_new";
  EXPECT_THAT(model_config_from_json(config).ignored,
              testing::ElementsAre("what is special to model_type \"brand_new\", which is taken for a decoder with a "
                                   "gated MLP"));
  config.erase("model_type");
  EXPECT_THAT(model_config_from_json(config).ignored, testing::IsEmpty());
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
  EXPECT_EQ(layer_of(model_config_from_json(config), 100)->experts, 8);
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
  EXPECT_EQ(layer_of(model_config_from_json(config), 100)->shared_intermediate, 160);
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
  EXPECT_EQ(error_with("torch_dtype", "float32"), "torch_dtype: expected bfloat16 or float16, got \"float32\"");
  EXPECT_EQ(error_with("kv_lora_rank", 512), "qk_rope_head_dim: expected this key, it is missing");
  EXPECT_EQ(error_with("layer_types", json{"full_attention", "linear_attention"}),
            "layer_types[1]: expected attention in every layer, got \"linear_attention\"");
  EXPECT_EQ(error_with("model_type", "starcoder2").rfind("model_type: expected a gated MLP", 0), 0);
  EXPECT_EQ(error_with("model_type", "qwen3_next").rfind("model_type: expected attention in every layer", 0), 0);
  EXPECT_EQ(error_with("is_encoder_decoder", true), "is_encoder_decoder: expected false: a decoder only, got true");
  EXPECT_NE(error_with("num_local_experts", 8), "");  // of which each token goes to how many?
  EXPECT_NE(error_with("hidden_size", 0), "");
  EXPECT_NE(error_with("num_key_value_heads", 9), "");
}

TEST(ModelConfig, KeysThatMayBeLeftOutHaveTheDefaultsOfTheirClass) {
  json config = small_config();
  config.erase("num_key_value_heads");
  EXPECT_EQ(model_config_from_json(config).kv_heads, 8);  // as many as heads
  config["num_key_value_heads"] = nullptr;
  EXPECT_EQ(model_config_from_json(config).kv_heads, 8);
  config["model_type"] = "gemma2";
  EXPECT_EQ(model_config_from_json(config).kv_heads, 4);
  config.erase("head_dim");
  EXPECT_EQ(model_config_from_json(config).head_dim, 256);
  config.erase("num_attention_heads");
  EXPECT_EQ(model_config_from_json(config).heads, 8);
  config.erase("torch_dtype");
  EXPECT_THAT(model_config_from_json(config).ignored,
              testing::Contains("no type of the weights is given: GEMMs are counted as bf16"));
}

DataType type_with(const json& quantization) {
  json config = small_config();
  config["quantization_config"] = quantization;
  return model_config_from_json(config).dtype;
}

TEST(ModelConfig, GemmsHaveTheTypeThatTheirInputsAreQuantizedTo) {
  const json eight_bits{{"type", "float"}, {"num_bits", 8}};
  const auto group = [&](const json& inputs) {
    return json{{"quant_method", "compressed-tensors"},
                {"config_groups", {{"group_0", {{"weights", eight_bits}, {"input_activations", inputs}}}}}};
  };
  EXPECT_EQ(type_with({{"quant_method", "fp8"}}), DataType::fp8);
  EXPECT_EQ(type_with({{"quant_method", "modelopt"}, {"quant_algo", "FP8"}}), DataType::fp8);
  EXPECT_EQ(type_with(group(eight_bits)), DataType::fp8);
  EXPECT_EQ(type_with(group(nullptr)), DataType::bf16);
  EXPECT_EQ(type_with({{"quant_method", "awq"}}), DataType::bf16);
  EXPECT_EQ(error_with("quantization_config", group({{"type", "int"}, {"num_bits", 8}}))
                .rfind("quantization_config.config_groups.group_0.input_activations: expected", 0),
            0);
  EXPECT_EQ(error_with("quantization_config", {{"quant_method", "modelopt"}, {"quant_algo", "NVFP4"}}),
            "quantization_config.quant_algo: expected FP8, got \"NVFP4\"");
  EXPECT_EQ(error_with("quantization_config", {{"quant_method", "int3"}})
                .rfind("quantization_config.quant_method: expected fp8", 0),
            0);
}

TEST(ModelConfig, HalfPrecisionIsCountedAsBf16AndSaysSo) {
  json config = small_config();
  config["torch_dtype"] = "float16";
  EXPECT_EQ(model_config_from_json(config).dtype, DataType::bf16);
  EXPECT_THAT(model_config_from_json(config).ignored,
              testing::ElementsAre("float16 is counted as bf16, which tensor cores run at the same rate"));
}

ModelConfig shipped_model(const std::string& name) {
  return read_model_config(std::filesystem::path(tests::source_folder()) / "scenarios/models" /
                           (name + ".config.json"));
}

/// hidden, intermediate, heads, kv_heads, head_dim, layers, experts, experts of a token, shared width.
std::vector<std::int64_t> sizes_of(const ModelConfig& model) {
  return {model.hidden,   model.intermediate,      model.heads,
          model.kv_heads, model.head_dim,          model.layers,
          model.experts,  model.experts_per_token, model.shared_intermediate};
}

TEST(ModelConfig, ReadsThisYearsModels) {
  using testing::ElementsAre;
  EXPECT_THAT(sizes_of(shipped_model("qwen2.5-72b")), ElementsAre(8192, 29568, 64, 8, 128, 80, 0, 0, 0));
  EXPECT_THAT(sizes_of(shipped_model("qwen3-32b")), ElementsAre(5120, 25600, 64, 8, 128, 64, 0, 0, 0));
  EXPECT_THAT(sizes_of(shipped_model("qwen3-235b-a22b")), ElementsAre(4096, 1536, 64, 4, 128, 94, 128, 8, 0));
  EXPECT_THAT(sizes_of(shipped_model("mistral-large-2407")), ElementsAre(12288, 28672, 96, 8, 128, 88, 0, 0, 0));
  EXPECT_THAT(sizes_of(shipped_model("mixtral-8x22b")), ElementsAre(6144, 16384, 48, 8, 128, 56, 8, 2, 0));
  EXPECT_THAT(sizes_of(shipped_model("glm-4.5")), ElementsAre(5120, 1536, 96, 8, 128, 89, 160, 8, 1536));
  EXPECT_THAT(sizes_of(shipped_model("minimax-m2")), ElementsAre(3072, 1536, 48, 8, 128, 62, 256, 8, 0));
  EXPECT_THAT(sizes_of(shipped_model("gpt-oss-120b")), ElementsAre(2880, 2880, 64, 8, 64, 36, 128, 4, 0));
  EXPECT_THAT(sizes_of(shipped_model("gemma-3-27b")), ElementsAre(5376, 21504, 32, 16, 128, 62, 0, 0, 0));
  EXPECT_THAT(sizes_of(shipped_model("gemma-3-4b")), ElementsAre(2560, 10240, 8, 4, 256, 34, 0, 0, 0));
}

TEST(ModelConfig, ReadsTheTypesOfThisYearsModels) {
  EXPECT_EQ(shipped_model("llama-3.3-70b-fp8").dtype, DataType::fp8);
  EXPECT_EQ(shipped_model("minimax-m2").dtype, DataType::fp8);
  EXPECT_EQ(shipped_model("qwen3-32b").dtype, DataType::bf16);
  EXPECT_EQ(shipped_model("gpt-oss-120b").dtype, DataType::bf16);
}

// A weight of four bits, and what its group has: in mxfp4 a scale of eight bits for 32, else a scale of fp16 and a
// zero.
TEST(ModelConfig, KnowsHowWeightsAreStored) {
  const auto bytes_with = [](const json& quantization) {
    json config = small_config();
    config["quantization_config"] = quantization;
    return model_config_from_json(config).weight_bytes;
  };
  EXPECT_EQ(shipped_model("qwen3-32b").weight_bytes, 2);
  EXPECT_EQ(shipped_model("llama-3.3-70b-fp8").weight_bytes, 1);
  EXPECT_EQ(shipped_model("gpt-oss-120b").weight_bytes, 2);  // but for the experts'
  EXPECT_EQ(shipped_model("gpt-oss-120b").expert_bytes, 4.25 / 8);
  EXPECT_EQ(bytes_with({{"quant_method", "awq"}, {"bits", 4}, {"group_size", 64}}), (4 + 20.0 / 64) / 8);
  EXPECT_EQ(bytes_with({{"quant_method", "gptq"}, {"bits", 8}, {"group_size", -1}}), 1);
  EXPECT_EQ(bytes_with({{"quant_method", "bitsandbytes"}, {"load_in_4bit", true}}), (4 + 16.0 / 64) / 8);
  EXPECT_EQ(error_of([&] {
              bytes_with({{"quant_method", "bitsandbytes"}, {"load_in_8bit", true}});
            }),
            "quantization_config.load_in_8bit: expected false: products of 8-bit integers are not modelled, got true");
}

// Four bits, a scale of fp16 for 128 of them; of models without experts what is kept is not told apart.
TEST(ModelConfig, KnowsWhichWeightsAreLeftAsTheyAre) {
  const auto read = [](json config, const json& kept) {
    config["quantization_config"] = {{"quant_method", "awq"}, {"modules_to_not_convert", kept}};
    return model_config_from_json(config);
  };
  json with_experts = small_config();
  with_experts["num_local_experts"] = 8;
  with_experts["num_experts_per_tok"] = 2;
  EXPECT_EQ(read(with_experts, {"model.layers.0.self_attn"}).weight_bytes, 2);
  EXPECT_LT(read(with_experts, {"model.layers.0.self_attn"}).expert_bytes, 1);
  EXPECT_LT(read(with_experts, {"lm_head", "visual.blocks.0.self_attn"}).weight_bytes, 1);
  const ModelConfig dense = read(small_config(), {"model.layers.0.self_attn"});
  EXPECT_LT(dense.weight_bytes, 1);
  EXPECT_THAT(dense.ignored,
              testing::ElementsAre("attention's weights, which are not quantized: they are counted as the "
                                   "others"));
  json config = small_config();
  config["quantization_config"] = {
      {"quant_method", "compressed-tensors"},
      {"config_groups", {{"group_0", {{"weights", {{"num_bits", 4}, {"group_size", 128}}}}}}}};
  EXPECT_EQ(model_config_from_json(config).weight_bytes, (4 + 16.0 / 128) / 8);
  json& weights = config["quantization_config"]["config_groups"]["group_0"]["weights"];
  weights["symmetric"] = false;
  EXPECT_EQ(model_config_from_json(config).weight_bytes, (4 + 20.0 / 128) / 8);
  weights = {{"num_bits", 4}, {"group_size", 16}, {"type", "float"}};
  EXPECT_EQ(model_config_from_json(config).weight_bytes, 4.5 / 8);
}

TEST(ModelConfig, LayersReadWeightsAsTheyAreStored) {
  const LayerWorkload dense = layer_of(shipped_model("llama-3.3-70b-fp8"), 64).value();
  EXPECT_EQ(dense.weight_bits, 0);  // as GEMMs read them
  const LayerWorkload experts = layer_of(shipped_model("gpt-oss-120b"), 64).value();
  EXPECT_EQ(experts.weight_bits, 0);
  EXPECT_EQ(experts.expert_bits, 4.25);
  EXPECT_EQ(experts.expert_choice, ExpertChoice::random);
  json config = small_config();
  config["quantization_config"] = {{"quant_method", "awq"}, {"group_size", 128}};
  EXPECT_EQ(layer_of(model_config_from_json(config), 64)->weight_bits, 4 + 20.0 / 128);
}

TEST(ModelConfig, ExpertsByKeysThatAreNotReadAreNoDenseMlp) {
  json config = small_config();
  config["moe_num_experts"] = 64;
  config["moe_k"] = 8;
  EXPECT_THROW(model_config_from_json(config), InputError);
  config["moe_num_experts"] = 0;
  config["moe_k"] = nullptr;
  EXPECT_EQ(model_config_from_json(config).experts, 0);
}

TEST(ModelConfig, LinearAttentionInSomeLayersIsRefused) {
  json config = small_config();
  config["attn_type_list"] = {1, 1};
  EXPECT_NO_THROW(model_config_from_json(config));
  config["attn_type_list"] = {0, 1};
  EXPECT_THROW(model_config_from_json(config), InputError);
}

TEST(ModelConfig, AWindowAsLongAsAllPositionsHidesNothing) {
  json config = small_config();
  config["max_position_embeddings"] = 4096;
  config["sliding_window"] = 4096;
  EXPECT_THAT(model_config_from_json(config).ignored, testing::IsEmpty());
  config["sliding_window"] = 1024;
  EXPECT_THAT(model_config_from_json(config).ignored, testing::SizeIs(1));
}

TEST(ModelConfig, Fp8WithoutATypeOfWeightsIsNotCalledBf16) {
  json config = small_config();
  config.erase("torch_dtype");
  config["quantization_config"] = {{"quant_method", "fp8"}};
  EXPECT_THAT(model_config_from_json(config).ignored, testing::IsEmpty());
}

TEST(ModelConfig, SaysWhatItIgnores) {
  using testing::ElementsAre;
  EXPECT_THAT(shipped_model("qwen3-32b").ignored, testing::IsEmpty());
  EXPECT_THAT(shipped_model("gemma-3-27b").ignored,
              ElementsAre("what reads images or sound: only the text model is counted",
                          "norms of what a block adds, before it is added: no kernel fuses them with an all-reduce",
                          "sliding windows: attention is counted as if it saw all tokens"));
  EXPECT_THAT(shipped_model("gpt-oss-120b").ignored,
              ElementsAre("sliding windows: attention is counted as if it saw all tokens",
                          "no type of the weights is given: GEMMs are counted as bf16"));
  EXPECT_THAT(shipped_model("glm-4.5").ignored,
              ElementsAre("the first 3 layers, which have no experts", "layers that predict further tokens"));
}

TEST(ModelConfig, ReadsLatentAttention) {
  const ModelConfig model = shipped_model("deepseek-v3");
  EXPECT_EQ(
      model.latent,
      (LatentAttention{.query_rank = 1536, .key_value_rank = 512, .rope_dim = 64, .nope_dim = 128, .value_dim = 128}));
  EXPECT_EQ(layer_of(model, 1024), std::nullopt);
  EXPECT_EQ(shipped_model("kimi-k2").heads, 64);
  EXPECT_EQ(shipped_model("kimi-k2").layers, 60);
}

TEST(ModelConfig, AFolderIsReadByItsConfig) {
  const tests::TemporaryFolder folder;
  folder.write("config.json", small_config().dump());
  EXPECT_EQ(read_model_config(folder.path()), model_config_from_json(small_config()));
}

TEST(ModelConfig, AMissingFileIsNamed) {
  EXPECT_EQ(error_of([] { read_model_config("no/such/config.json"); }).rfind("no/such/config.json", 0), 0);
}

}  // namespace model_config_test
}  // namespace weft::scenarios
