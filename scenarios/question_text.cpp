#include "scenarios/question_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "models/base/json_object.hpp"
#include "models/base/text.hpp"
#include "models/machine/machine.hpp"

namespace weft::scenarios {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* scenario_format = "weft.scenario/1";

bool is_file(const std::string& what) {
  std::error_code error;
  return fs::exists(what, error);
}

bool is_words(const std::string& what) { return !is_file(what) && what.find('=') != std::string::npos; }

/// By the key of each.
std::array<std::pair<const char*, const std::optional<std::int64_t>*>, 4> given_of(const AskedSequences& step) {
  return {{{"sequences", &step.sequences},
           {"prefix", &step.prefix},
           {"decoding", &step.decoding},
           {"decoding_prefix", &step.decoding_prefix}}};
}

int gpus_of(const std::string& what, const QuestionOptions& options) {
  if (options.gpus) return *options.gpus;
  if (!options.machine_gpus)
    throw InputError("--machine", "expected the name or path of a profile, since " + shown_name(what) + " names none");
  return *options.machine_gpus;
}

/// Null where `text` is more than a number, or none.
template <class Number>
json number_of(const std::string& text) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? json(number) : json();
}

/// A number, a list of them with commas, true or false, or else a word.
json value_of(const std::string& text) {
  if (text == "true" || text == "false") return text == "true";
  json numbers = json::array();
  std::stringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    json number = number_of<std::int64_t>(part);
    if (number.is_null()) number = number_of<double>(part);
    if (number.is_null()) return text;
    numbers.push_back(std::move(number));
  }
  return numbers.size() == 1 ? numbers.front() : numbers;
}

json scenario_of_words(const std::string& what) {
  json scenario{{"format", scenario_format}};
  std::stringstream words(what);
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    const bool is_one = equals == word.rfind('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == word.size() || !is_one)
      throw InputError("SCENARIO", "expected words such as m=4096 n=8192 k=3584 op=gemm+all_reduce, got \"" +
                                       shown_name(word) + "\"");
    const std::string key = word.substr(0, equals);
    if (scenario.contains(key)) throw InputError(shown_name(key), "expected it once");
    scenario[key] = value_of(word.substr(equals + 1));
  }
  return scenario;
}

/// Rows of a pair, tokens of all else.
const char* key_of_sizes(const json& scenario) { return scenario.contains("m") ? "m" : "tokens"; }

void replace_sizes_and_gpus(json& scenario, const QuestionOptions& options) {
  if (!options.sizes.empty()) scenario[key_of_sizes(scenario)] = options.sizes;
  if (options.gpus) scenario["gpus"] = *options.gpus;
  for (const auto& [key, value] : given_of(options.step))
    if (*value) scenario[key] = **value;
}

Scenario scenario_of_model(ModelConfig model, const std::string& what, const QuestionOptions& options) {
  Scenario scenario;
  const fs::path path = fs::path(what).lexically_normal();
  const fs::path named = path.has_filename() ? path : path.parent_path();
  scenario.name =
      named.filename() == "config.json" ? named.parent_path().filename().string() : named.stem().stem().string();
  scenario.gpus = gpus_of(what, options);
  scenario.model = std::move(model);
  scenario.forms = {LayerForm::all_reduce, LayerForm::sequence_parallel};
  scenario.sequences = options.step.sequences.value_or(1);
  scenario.prefix = options.step.prefix.value_or(0);
  scenario.decoding = options.step.decoding.value_or(0);
  scenario.decoding_prefix = options.step.decoding_prefix.value_or(0);
  scenario.sizes = options.step.sequences ? std::vector{*options.step.sequences} : usual_tokens;
  if (!options.sizes.empty()) scenario.sizes = options.sizes;
  std::ranges::sort(scenario.sizes);
  const auto repeated = std::ranges::unique(scenario.sizes);
  scenario.sizes.erase(repeated.begin(), repeated.end());
  check_questions(scenario);
  return scenario;
}

Scenario read_file(const std::string& what, const QuestionOptions& options) {
  const fs::path file = fs::is_directory(what) ? fs::path(what) / "config.json" : fs::path(what);
  json document = read_json_file(file);
  try {
    if (is_model_config(document)) return scenario_of_model(model_config_from_json(document), what, options);
    if (!document.is_object() || !document.contains("format"))
      throw InputError("", "expected a scenario (\"format\": \"weft.scenario/1\") or a model's config.json");
    replace_sizes_and_gpus(document, options);
    return scenario_from_json(document, file.parent_path());
  } catch (const InputError& error) {
    throw is_given(error.field(), options) ? error : error.in_file(file.string());
  }
}

}  // namespace

bool is_given(const std::string& field, const QuestionOptions& options) {
  return ((field == "tokens" || field == "m") && !options.sizes.empty()) || (field == "gpus" && options.gpus) ||
         std::ranges::any_of(given_of(options.step),
                             [&](const auto& one) { return field == one.first && *one.second; });
}

Scenario read_question(const std::string& what, const QuestionOptions& options) {
  if (!is_words(what)) return read_file(what, options);
  json scenario = scenario_of_words(what);
  replace_sizes_and_gpus(scenario, options);
  if (!scenario.contains("gpus")) scenario["gpus"] = gpus_of(what, options);
  return scenario_from_json(scenario, ".");
}

Scenario as_machine_computes(Scenario scenario, const Machine& machine) {
  if (!scenario.model || machine.gpu.speedup(scenario.model->dtype) > 0) return scenario;
  scenario.model->ignored.push_back("fp8, which these GPUs have not: GEMMs are counted as bf16");
  scenario.model->dtype = DataType::bf16;
  scenario.model->weight_bytes = scenario.model->expert_bytes = 2;
  return scenario;
}

}  // namespace weft::scenarios
