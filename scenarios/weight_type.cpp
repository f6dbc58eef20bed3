#include "scenarios/weight_type.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "models/base/input_error.hpp"

namespace weft::scenarios {
namespace {

constexpr std::array fp8_methods{"fp8", "fbgemm_fp8"};
/// Weights alone are compressed: kernels expand them and compute in the type of the activations.
constexpr std::array weight_only_methods{"awq", "gptq", "auto-round", "bitsandbytes", "mxfp4", "hqq"};

bool is_among(const auto& names, const std::string& name) {
  return std::ranges::find(names, name) != std::ranges::end(names);
}

/// The key was renamed from torch_dtype to dtype; null and nothing mean the same.
std::optional<JsonValue> stored_type(JsonObject& object) {
  for (const char* const key : {"dtype", "torch_dtype"})
    if (const auto value = object.find(key); value && !value->is_null()) return value;
  return std::nullopt;
}

void check_stored_type(JsonObject& whole, JsonObject& model, std::vector<std::string>& ignored) {
  auto type = stored_type(model);
  if (!type) type = stored_type(whole);
  if (!type) return;
  if (const std::string name = type->string(); name == "float16")
    ignored.emplace_back("float16 is counted as bf16, which tensor cores run at the same rate");
  else if (name != "bfloat16")
    type->fail("bfloat16 or float16");
}

constexpr double fp16_bits = 16;

/// Bytes of a weight of so many bits, of which each group has a scale, and a zero of as many bits.
double bytes_of_weight(double bits, double group, double scale_bits, double zero_bits) {
  return (bits + (group > 0 ? (scale_bits + zero_bits) / group : 0)) / 8;
}

/// Of compressed-tensors: how one group of weights, or of their inputs, is stored; empty where it is not quantized.
struct Stored {
  std::string type;
  std::int64_t bits = 0;
  double bytes = 0;  ///< with the scale of its group, and its zero
};
std::optional<Stored> stored(JsonObject& group, const char* key) {
  const auto value = group.find(key);
  if (!value || value->is_null()) return std::nullopt;
  JsonObject object = value->object();
  const std::int64_t bits = object.integer("num_bits", 1, 64);
  const auto group_size = object.find("group_size");
  const double of_group = group_size && !group_size->is_null() ? static_cast<double>(group_size->integer(-1)) : 0;
  const auto of_zero = object.boolean_or("symmetric", true) ? 0.0 : static_cast<double>(bits);
  const std::string type = object.string_or("type", "int");
  const double of_scale = type == "float" && bits == 4 ? 8 : fp16_bits;  // NVFP4 and MXFP4
  return Stored{type, bits, bytes_of_weight(static_cast<double>(bits), of_group, of_scale, of_zero)};
}

constexpr WeightType of_fp8{.gemms = DataType::fp8, .bytes = 1};

/// Where weights alone are compressed: by the method's keys, and what they are where the file leaves them out.
double compressed_bytes(JsonObject& quantization, const JsonValue& method) {
  constexpr double usual_bits = 4;
  const std::string name = method.string();
  if (name == "mxfp4") return bytes_of_weight(usual_bits, 32, 8, 0);  // a power of two for 32: OCP Microscaling 1.0
  if (name == "bitsandbytes") {
    if (quantization.boolean_or("load_in_8bit", false))
      quantization.at("load_in_8bit").fail("false: products of 8-bit integers are not modelled");
    return bytes_of_weight(usual_bits, 64, fp16_bits, 0);
  }
  const auto bits = static_cast<double>(quantization.integer_or("bits", 4, 1, 16));
  const auto group = static_cast<double>(quantization.integer_or("group_size", 128, -1));
  return bytes_of_weight(bits, group, fp16_bits, bits);
}

/// Whether the language model's attention is left as it is, as one module of it in the list is taken to mean. mxfp4 is
/// of gpt-oss's experts, also where the list is left out.
bool keeps_attention(JsonObject& quantization, const std::string& method) {
  const char* const key = method == "compressed-tensors" ? "ignore"
                          : method == "bitsandbytes"     ? "llm_int8_skip_modules"
                                                         : "modules_to_not_convert";
  const auto kept = quantization.find(key);
  if (!kept || kept->is_null()) return method == "mxfp4";
  return std::ranges::any_of(kept->list(), [](const JsonValue& module) {
    const std::string name = module.string();
    return name.find("self_attn") != std::string::npos && name.find("vis") == std::string::npos;
  });
}

/// Of a model with experts theirs alone, where attention is left as it is.
WeightType packed(JsonObject& quantization, const std::string& method, bool has_experts, double bytes,
                  std::vector<std::string>& ignored) {
  const bool is_kept = keeps_attention(quantization, method);
  if (is_kept && !has_experts)
    ignored.emplace_back("attention's weights, which are not quantized: they are counted as the others");
  return {.gemms = DataType::bf16, .bytes = is_kept && has_experts ? 2 : bytes, .expert_bytes = bytes};
}

WeightType type_of_groups(JsonObject& quantization, bool has_experts, std::vector<std::string>& ignored) {
  std::optional<DataType> common;
  double bytes = 0;
  for (auto& [name, value] : quantization.object("config_groups").entries()) {
    JsonObject group = value.object();
    const auto weights = stored(group, "weights"), inputs = stored(group, "input_activations");
    if (!weights) continue;
    if (inputs && (inputs->type != "float" || inputs->bits != 8))
      throw InputError(group.path_of("input_activations"),
                       "expected inputs of 8-bit floats, or none that are quantized, got " +
                           std::to_string(inputs->bits) + "-bit " + shown_name(inputs->type));
    const DataType type = inputs ? DataType::fp8 : DataType::bf16;
    if (common && *common != type) value.fail("groups whose GEMMs have one type");
    common = type;
    bytes = std::max(bytes, weights->bytes);
  }
  if (common == DataType::fp8) return of_fp8;
  return bytes > 0 ? packed(quantization, "compressed-tensors", has_experts, bytes, ignored) : WeightType{};
}

WeightType type_of_modelopt(JsonObject& quantization) {
  const JsonValue algorithm = quantization.at("quant_algo");
  if (algorithm.string() != "FP8") algorithm.fail("FP8");
  return of_fp8;
}

WeightType quantized_type(JsonObject& whole, JsonObject& model, bool has_experts, std::vector<std::string>& ignored) {
  auto value = whole.find("quantization_config");
  if (!value || value->is_null()) value = model.find("quantization_config");
  if (!value || value->is_null()) return {};
  JsonObject quantization = value->object();
  const JsonValue method = quantization.at("quant_method");
  const std::string name = method.string();
  if (is_among(fp8_methods, name)) return of_fp8;
  if (name == "compressed-tensors") return type_of_groups(quantization, has_experts, ignored);
  if (name == "modelopt") return type_of_modelopt(quantization);
  if (!is_among(weight_only_methods, name))
    method.fail(
        "fp8, fbgemm_fp8, compressed-tensors, modelopt, or one that stores weights alone (awq, gptq, mxfp4, …)");
  return packed(quantization, name, has_experts, compressed_bytes(quantization, method), ignored);
}

}  // namespace

WeightType weight_type(JsonObject& whole, JsonObject& model, bool has_experts, std::vector<std::string>& ignored) {
  check_stored_type(whole, model, ignored);
  const WeightType type = quantized_type(whole, model, has_experts, ignored);
  if (type.gemms == DataType::bf16 && !stored_type(model) && !stored_type(whole))
    ignored.emplace_back("no type of the weights is given: GEMMs are counted as bf16");
  return type;
}

}  // namespace weft::scenarios
