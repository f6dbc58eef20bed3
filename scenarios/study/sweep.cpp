#include "scenarios/study/sweep.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/base/input_error.hpp"
#include "models/machine/gemm_choices_file.hpp"
#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "models/machine/profile_checksum.hpp"
#include "scenarios/case_json.hpp"
#include "scenarios/scenario.hpp"
#include "scenarios/study/comparison.hpp"
#include "scenarios/study/prediction.hpp"
#include "scenarios/study/spans.hpp"

namespace weft::scenarios::study {
namespace {

constexpr const char* format = "weft.sweep/1";

/// What is asked on every machine, number of GPUs and in every condition.
struct Asked {
  std::string model, part;
  std::filesystem::path config = {};  ///< of a model; its workloads depend on the number of GPUs
  std::vector<LayerForm> forms = {};
  std::vector<std::int64_t> tokens = {};
  bool layers = false;
  Workload workload = {};
};

/// An error of one of the combinations that a list's item stands for names the item's field.
InputError within(const JsonValue& item, const InputError& error) {
  return InputError(error.field().empty() ? item.path() : item.path() + "." + error.field(), error.expected());
}

void add_workloads(const JsonValue& item, std::vector<Asked>& asked) {
  for_each_combination(item.object(), [&](const nlohmann::json& one) {
    try {
      const Workload workload = read_workload(JsonObject(one));
      asked.push_back({.model = "", .part = std::string(op_of(workload)), .workload = workload});
    } catch (const InputError& error) {
      throw within(item, error);
    }
    if (asked.size() > most_cases) item.fail("at most " + std::to_string(most_cases) + " cases");
  });
}

void add_model(const JsonValue& item, const std::filesystem::path& folder, std::vector<Asked>& asked) {
  JsonObject object = item.object();
  Asked one;
  one.model = object.string("config");
  one.config = folder / one.model;
  if (const auto form = object.find("form"))
    one.forms = {form->word<LayerForm>()};
  else
    for (const auto& [known, name] : NamesOf<LayerForm>::names) one.forms.push_back(known);
  one.tokens = spanned_integers(object.at("tokens"), 1, max_extent);
  const auto layers = object.find("layers");
  one.layers = layers && layers->boolean();
  if (one.layers && !layer_of(read_model_config(one.config), 1))
    layers->fail("false for " + one.model + ", whose latent attention is not simulated within a layer");
  object.finish();
  asked.push_back(std::move(one));
}

void add_schedules(const JsonValue& item, std::vector<ScheduleChoice>& schedules) {
  for_each_combination(item.object(), [&](const nlohmann::json& one) {
    try {
      schedules.push_back(read_schedule_choice(JsonObject(one)));
    } catch (const InputError& error) {
      throw within(item, error);
    }
  });
}

/// `place` has machine, GPUs and condition.
void add_questions(const Asked& asked, const SweepQuestion& place, std::vector<SweepQuestion>& questions) {
  const auto add = [&](const std::string& part, const Workload& workload) {
    questions.push_back(place);
    questions.back().model = asked.model;
    questions.back().part = part;
    questions.back().workload = workload;
  };
  if (asked.model.empty()) return add(asked.part, asked.workload);
  Scenario scenario;
  scenario.gpus = place.gpus;
  scenario.model = read_model_config(asked.config);
  scenario.forms = asked.forms;
  scenario.sizes = asked.tokens;
  try {
    for (std::size_t size = 0; size < scenario.sizes.size(); ++size) {
      for (const Question& one : scenarios::questions(scenario, size)) add(one.name, one.workload);
      if (!asked.layers) continue;
      for (const LayerWorkload& one : layers(scenario, size))
        add("whole layer, " + std::string(words_of(form_of(one))), one);
    }
  } catch (const InputError& error) {
    throw error.in_file(asked.config.string());
  }
}

std::vector<RunCondition> conditions_in(JsonObject& object) {
  std::vector<RunCondition> conditions;
  for (const JsonValue& one : object.list_or_empty("conditions")) conditions.push_back(read_condition(one));
  if (conditions.empty()) conditions.emplace_back();
  return conditions;
}

/// Order and text of all that decides an answer.
nlohmann::ordered_json json_of(const SweepQuestion& question) {
  return {question.machine, question.gpus, to_json(question.condition),
          question.model,   question.part, to_json(question.workload)};
}

bool fits_its_gpus(const SweepQuestion& question) {
  try {
    check_sizes(question.workload, question.gpus);
    return true;
  } catch (const InputError&) {
    return false;
  }
}

}  // namespace

Sweep sweep_from_json(const nlohmann::json& json, const std::filesystem::path& folder) {
  JsonObject object(json);
  if (const JsonValue word = object.at("format"); word.string() != format) word.fail(format);
  Sweep sweep;
  for (const JsonValue& name : object.list("machines")) sweep.machines.push_back(name.string());
  if (sweep.machines.empty()) object.at("machines").fail("at least one profile");
  const auto gpus = spanned_integers(object.at("gpus"), gpu_counts.least, gpu_counts.most);
  std::vector<Asked> asked;
  for (const JsonValue& item : object.list_or_empty("workloads")) add_workloads(item, asked);
  for (const JsonValue& item : object.list_or_empty("models")) add_model(item, folder, asked);
  if (asked.empty()) throw InputError("workloads", "expected this key or models, with at least one of either");
  if (const auto schedules = object.find("schedules")) {
    for (const JsonValue& item : schedules->list()) add_schedules(item, sweep.schedules);
    if (sweep.schedules.empty()) schedules->fail("at least one schedule, or this key left out");
  }
  const std::vector<RunCondition> conditions = conditions_in(object);
  object.finish();
  for (std::size_t machine = 0; machine < sweep.machines.size(); ++machine)
    for (const std::int64_t count : gpus)
      for (const RunCondition& condition : conditions)
        for (const Asked& one : asked) {
          add_questions(one, {.machine = machine, .gpus = static_cast<int>(count), .condition = condition},
                        sweep.questions);
          if (sweep.questions.size() * std::max<std::size_t>(1, sweep.schedules.size()) > most_cases)
            throw InputError("", "expected at most " + std::to_string(most_cases) + " cases");
        }
  return sweep;
}

Sweep read_sweep(const std::filesystem::path& path) {
  const nlohmann::json json = read_json_file(path);
  try {
    return sweep_from_json(json, path.parent_path());
  } catch (const InputError& error) {
    throw error.in_file(path.string());
  }
}

std::vector<Machine> machines_of(const Sweep& sweep) {
  std::vector<Machine> machines;
  for (const std::string& name : sweep.machines) machines.push_back(read_machine(machine_path(name)));
  for (const SweepQuestion& question : sweep.questions) require_gpus(question.gpus, machines[question.machine]);
  return machines;
}

std::vector<Case> cases_of(const SweepQuestion& question, const Sweep& sweep, const Machine& machine) {
  Case one{.id = "", .gpus = question.gpus, .workload = question.workload, .schedule = {}, .measured = {}};
  one.condition = question.condition;
  std::vector<Case> cases;
  if (sweep.schedules.empty()) {
    cases = fits_its_gpus(question) ? named_cases(one, machine) : std::vector{one};
  } else {
    cases.assign(sweep.schedules.size(), one);
    for (std::size_t i = 0; i < cases.size(); ++i) cases[i].schedule = sweep.schedules[i];
  }
  for (Case& each : cases) {
    each.condition = question.condition;
    each.id = describe(each.schedule);
  }
  return cases;
}

std::string checksum_of(const Sweep& sweep) {
  nlohmann::ordered_json head{{"weft", WEFT_VERSION}};
  for (const std::string& name : sweep.machines)
    head["machines"].push_back({name, profile_checksum(machine_path(name))});
  for (const ScheduleChoice& choice : sweep.schedules) head["schedules"].push_back(to_json(choice));
  std::string checksum = table_checksum(head.dump());
  for (const SweepQuestion& question : sweep.questions) checksum = table_checksum(checksum + json_of(question).dump());
  return checksum;
}

}  // namespace weft::scenarios::study
