#include "scenarios/scenario.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "models/base/json_object.hpp"
#include "models/base/text.hpp"
#include "scenarios/case_json.hpp"
#include "scenarios/family_names.hpp"
#include "scenarios/parts.hpp"

namespace weft::scenarios {
namespace {

constexpr std::string_view format = "weft.scenario/1";
/// Each once, in the order of the file.
std::vector<int> list_of_counts(const std::vector<JsonValue>& values, Range range) {
  std::vector<int> result;
  for (const JsonValue& value : values) {
    const auto count = static_cast<int>(value.integer(range.least, range.most));
    if (std::find(result.begin(), result.end(), count) != result.end()) value.fail("a value that is not there yet");
    result.push_back(count);
  }
  return result;
}

std::vector<std::int64_t> ascending_sizes(const JsonValue& value) {
  std::vector<std::int64_t> sizes;
  if (value.is_list())
    for (const JsonValue& item : value.list()) sizes.push_back(item.integer(1, max_extent));
  else
    sizes.push_back(value.integer(1, max_extent));
  if (sizes.empty()) value.fail("at least one size");
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

/// NCCL is always there: serial by it is what all others are compared with.
void read_collectives(const JsonValue& words, SearchSpace& space) {
  const std::vector<Collectives> all = SearchSpace{}.collectives;
  space.collectives.clear();
  for (const JsonValue& word : words.list()) {
    const std::string name = word.string();
    const auto found = std::ranges::find(all, name, [](Collectives by) { return name_of(by); });
    if (found != all.end())
      space.collectives.push_back(*found);
    else if (name != name_of(Collectives::nccl))
      word.fail("nccl, two_shot, multimem, nccl_symmetric or nccl_copy_engine");
  }
}

SearchSpace read_space(JsonObject& object) {
  SearchSpace space;
  if (const auto families = object.find("families")) space.families = family_names(*families);
  if (const auto chunks = object.find("chunks")) space.chunks = list_of_counts(chunks->list(), chunk_counts);
  if (const auto stages = object.find("stages")) space.stages = list_of_counts(stages->list(), piece_counts);
  if (const auto max_ctas = object.find("max_ctas")) space.max_ctas = list_of_counts(max_ctas->list(), counts);
  if (const auto collectives = object.find("collectives")) read_collectives(*collectives, space);
  space.launch = object.word_or("launch", Launch::graph);
  return space;
}

void read_model(JsonObject& object, Scenario& scenario, const std::filesystem::path& folder) {
  scenario.model = read_model_config(folder / object.string("model"));
  scenario.forms = {LayerForm::all_reduce, LayerForm::sequence_parallel};
  if (object.has("form")) scenario.forms = {object.word<LayerForm>("form")};
  scenario.sizes = ascending_sizes(object.at("tokens"));
  scenario.sequences = object.integer_or("sequences", 1, 1, max_extent);
  scenario.prefix = object.integer_or("prefix", 0, 0, max_extent);
  scenario.decoding = object.integer_or("decoding", 0, 0, max_extent);
  scenario.decoding_prefix = object.integer_or("decoding_prefix", 0, 0, max_extent);
}

/// A kernel alone leaves no choice to explore.
bool is_lone_kernel(const Workload& workload) {
  return std::holds_alternative<GemmWorkload>(workload) || std::holds_alternative<AttentionKernelWorkload>(workload) ||
         std::holds_alternative<RowKernelWorkload>(workload);
}

/// The keys of a workload stand beside those of the scenario; m, or the tokens of attention, are written for each size.
void read_plain(JsonObject& object, Scenario& scenario, const nlohmann::json& json) {
  const std::string op = object.string("op");
  const char* const size = op == "distributed_attention" || op == "transformer_layer" ? "tokens" : "m";
  nlohmann::json workload{{"op", op}};
  std::set<std::string> keys;  // of every op that is asked about by rows or tokens
  for (const Workload& one : workload_of_each_op()) {
    if (is_lone_kernel(one)) {
      if (op_of(one) == op) object.at("op").fail("an op of several kernels");
      continue;
    }
    std::set<std::string> of_op;
    for (const Field& field : fields_of(one)) of_op.emplace(field.key);
    if (of_op.erase("m") + of_op.erase("tokens") > 0)
      keys.merge(of_op);
    else if (op_of(one) == op)  // a collective or a copy, which weft predict prices
      object.at("op").fail("an op of several kernels");
  }
  scenario.sizes = ascending_sizes(object.at(size));
  for (const std::string& key : keys)
    if (object.find(key)) workload[key] = json.at(key);
  for (const std::int64_t value : scenario.sizes) {
    workload[size] = value;
    scenario.plain.push_back(read_workload(JsonObject(workload)));
  }
  if (const auto measured = object.find("measured")) {
    if (scenario.sizes.size() > 1) measured->fail("no measured times where m has several sizes");
    if (!parts_of(scenario.plain.front())) measured->fail("no measured times where op is no pair");
    scenario.measured = read_measured(measured->object());
  }
}

std::int64_t share(std::int64_t value, int gpus, const std::string& field) {
  if (value % gpus != 0)
    throw InputError(field, "expected a multiple of gpus = " + std::to_string(gpus) + ", got " + std::to_string(value));
  return value / gpus;
}

/// Columns of the GEMM behind the first all-gather of a layer, on one GPU.
std::int64_t gathered_columns(const ModelConfig& model, std::int64_t heads, std::int64_t kv_heads) {
  if (!model.latent) return (heads + 2 * kv_heads) * model.head_dim;
  const LatentAttention& latent = *model.latent;
  const std::int64_t queries = latent.query_rank > 0 ? latent.query_rank : heads * (latent.nope_dim + latent.rope_dim);
  return queries + latent.key_value_rank + latent.rope_dim;
}

/// What the sizes that are split over GPUs are called where they are written.
struct SplitKeys {
  const char *heads, *kv_heads, *intermediate;
};

constexpr SplitKeys keys_of_models{"num_attention_heads", "num_key_value_heads", "intermediate_size"};
constexpr SplitKeys keys_of_layers{"heads", "kv_heads", "intermediate"};

std::vector<Question> questions_of_layer(const ModelConfig& model, LayerForm form, std::int64_t tokens, int gpus,
                                         const SplitKeys& keys) {
  const std::int64_t heads = share(model.heads, gpus, keys.heads);
  const std::int64_t kv_heads = model.kv_heads < gpus ? 1 : share(model.kv_heads, gpus, keys.kv_heads);
  const std::int64_t width = share(model.intermediate, gpus, keys.intermediate);
  const std::int64_t h = model.hidden;
  const auto question = [&](const char* name, PairOp op, std::int64_t n, std::int64_t k) {
    return Question{name,
                    PairWorkload{.op = op,
                                 .m = tokens,
                                 .n = n,
                                 .k = k,
                                 .dtype = model.dtype,
                                 .weight_bits = packed_bits(model.weight_bytes, model.dtype)},
                    form};
  };
  const char* const output = "attention output projection";
  const char* const down = "MLP down projection";
  const bool is_dense = model.experts == 0;
  std::vector<Question> questions;
  if (form == LayerForm::all_reduce) {
    questions.push_back(question(output, PairOp::gemm_all_reduce, h, heads * model.head_dim));
    if (is_dense) questions.push_back(question(down, PairOp::gemm_all_reduce, h, width));
    return questions;
  }
  questions.push_back(question("qkv projection", PairOp::all_gather_gemm, gathered_columns(model, heads, kv_heads), h));
  questions.push_back(question(output, PairOp::gemm_reduce_scatter, h, heads * model.head_dim));
  if (!is_dense) return questions;
  questions.push_back(question("MLP gate and up projection", PairOp::all_gather_gemm, 2 * width, h));
  questions.push_back(question(down, PairOp::gemm_reduce_scatter, h, width));
  return questions;
}

/// Those that are named, serial not among them, have some schedule of the op at some size: else nothing would be
/// compared.
void check_families(const Scenario& scenario) {
  const auto has_more_than_serial = [&](const Workload& workload) {
    return std::ranges::any_of(candidates(workload, scenario.gpus, scenario.space),
                               [](const Case& one) { return !std::holds_alternative<Serial>(one.schedule.family); });
  };
  const auto& families = scenario.space.families;
  if (!families || families->empty() || std::ranges::count(*families, "serial") > 0 || scenario.model ||
      std::ranges::any_of(scenario.plain, has_more_than_serial))
    return;
  throw InputError("families", "expected one that has a schedule of the op and its sizes, got " + joined(*families));
}

/// Of a model's layer at that size: where both are asked about, sequence parallel only where each GPU gets as many
/// tokens, which a step of decoding often has not.
std::vector<LayerForm> forms_at(const Scenario& scenario, std::size_t index) {
  std::vector<LayerForm> forms = scenario.forms;
  if (forms.size() > 1 && scenario.sizes[index] % scenario.gpus != 0) std::erase(forms, LayerForm::sequence_parallel);
  return forms;
}

}  // namespace

std::vector<Question> questions(const Scenario& scenario, std::size_t index) {
  if (!scenario.model) return {{std::string(op_of(scenario.plain[index])), scenario.plain[index]}};
  std::vector<Question> questions;
  for (const LayerForm form : forms_at(scenario, index))
    for (Question& question :
         questions_of_layer(*scenario.model, form, scenario.sizes[index], scenario.gpus, keys_of_models)) {
      if (scenario.forms.size() > 1) question.name += ", " + std::string(words_of(form));
      questions.push_back(std::move(question));
    }
  return questions;
}

std::vector<LayerWorkload> layers(const Scenario& scenario, std::size_t index) {
  std::vector<LayerWorkload> layers;
  if (!scenario.model) return layers;
  for (const LayerForm form : forms_at(scenario, index))
    if (auto layer = layer_of(*scenario.model, scenario.sizes[index])) {
      layer->sequence_parallel = form == LayerForm::sequence_parallel;
      layer->sequences = scenario.sequences;
      layer->prefix = scenario.prefix;
      layer->decoding = scenario.decoding;
      layer->decoding_prefix = scenario.decoding_prefix;
      layers.push_back(*layer);
    }
  return layers;
}

LayerForm form_of(const LayerWorkload& layer) {
  return layer.sequence_parallel ? LayerForm::sequence_parallel : LayerForm::all_reduce;
}

std::vector<Question> pairs_of(const LayerWorkload& layer, int gpus) {
  const ModelConfig model{.hidden = layer.hidden,
                          .intermediate = layer.intermediate,
                          .heads = layer.heads,
                          .kv_heads = layer.kv_heads,
                          .head_dim = layer.head_dim,
                          .experts = layer.experts,
                          .dtype = layer.dtype,
                          .weight_bytes = stored_weight_bytes(layer.weight_bits, layer.dtype)};
  return questions_of_layer(model, form_of(layer), layer.tokens, gpus, keys_of_layers);
}

std::string_view words_of(LayerForm form) {
  return form == LayerForm::sequence_parallel ? "sequence parallel" : "all-reduce";
}

void check_questions(const Scenario& scenario) {
  try {
    for (std::size_t index = 0; index < scenario.sizes.size(); ++index) {
      for (const Question& question : questions(scenario, index)) check_sizes(question.workload, scenario.gpus);
      for (const LayerWorkload& layer : layers(scenario, index)) check_sizes(layer, scenario.gpus);
    }
  } catch (const InputError& error) {
    throw as_written(error, scenario);
  }
}

Scenario scenario_from_json(const nlohmann::json& json, const std::filesystem::path& folder) {
  JsonObject object(json);
  if (const JsonValue word = object.at("format"); word.string() != format) word.fail(std::string(format));
  Scenario scenario;
  scenario.name = object.string_or("name", "");
  scenario.source = object.string_or("source", "");
  scenario.machine = object.string_or("machine", "");
  scenario.gpus = static_cast<int>(object.integer("gpus", gpu_counts.least, gpu_counts.most));
  scenario.space = read_space(object);
  if (object.has("model"))
    read_model(object, scenario, folder);
  else if (object.has("op"))
    read_plain(object, scenario, json);
  else
    throw InputError(object.path_of("model"), "expected this key, or op with m, n and k; both are missing");
  object.finish();
  check_questions(scenario);
  check_families(scenario);
  return scenario;
}

InputError as_written(const InputError& error, const Scenario& scenario) {
  constexpr std::string_view prefix = "workload.";
  if (!error.field().starts_with(prefix)) return error;
  const std::string key = error.field().substr(prefix.size());
  return InputError(scenario.model && key == "m" ? "tokens" : key, error.expected());
}

Scenario read_scenario(const std::filesystem::path& path) {
  const nlohmann::json json = read_json_file(path);
  try {
    return scenario_from_json(json, path.parent_path());
  } catch (const InputError& error) {
    throw error.in_file(path.string());
  }
}

}  // namespace weft::scenarios
