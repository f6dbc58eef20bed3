#include "scenarios/case_json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/base/text.hpp"
#include "scenarios/family_rules.hpp"

namespace weft::scenarios {
namespace {

Family read_family(JsonObject& object) {
  const JsonValue family = object.at("family");
  const std::string word = family.string();
  for (const FamilyRules* rules : all_families())
    if (rules->name == word) return rules->read(object);
  std::vector<std::string> known;
  for (const FamilyRules* rules : all_families()) known.emplace_back(rules->name);
  family.fail("one of " + joined(known));
}

void write(nlohmann::ordered_json& json, const std::vector<Field>& fields) {
  for (const Field& field : fields) {
    if (!field.is_written) continue;
    if (field.type == FieldType::pair_schedule)
      write(json[field.key], field.fields);
    else
      std::visit([&](const auto& value) { json[field.key] = value; }, field.value);
  }
}

}  // namespace

Workload read_workload(JsonObject object) {
  const JsonValue op = object.at("op");
  const auto found = std::ranges::find(workload_of_each_op(), op.string(), op_of);
  if (found == workload_of_each_op().end()) {
    std::vector<std::string> known;
    for (const Workload& workload : workload_of_each_op()) known.emplace_back(op_of(workload));
    op.fail("one of " + joined(known));
  }
  Workload workload = *found;
  FieldReader reader(object);
  std::visit([&](auto& one) { one.describe(reader, one); }, workload);
  object.finish();
  return workload;
}

ScheduleChoice read_schedule_choice(JsonObject object) {
  ScheduleChoice choice;
  choice.family = read_family(object);
  FieldReader reader(object);
  ScheduleChoice::describe(reader, choice);
  object.finish();
  return choice;
}

Measured read_measured(JsonObject object) {
  Measured measured;
  FieldReader reader(object);
  Measured::describe(reader, measured);
  object.finish();
  return measured;
}

RunCondition read_condition(const JsonValue& value) {
  if (!value.is_object()) return {value.word<Condition>()};
  JsonObject object = value.object();
  const bool is_of_mix = object.has("mix_clock_MHz");
  const double clock_MHz = object.number(is_of_mix ? "mix_clock_MHz" : "clock_MHz", least_clock_MHz, most_clock_MHz);
  const auto of_mix = [&](const char* key) { return is_of_mix && object.boolean_or(key, false); };
  const bool late_kernels = of_mix("late_kernels"), library_on_branch = of_mix("library_on_branch");
  object.finish();
  return {Condition::sustained, clock_MHz, is_of_mix, late_kernels, library_on_branch};
}

Timing read_timing(const JsonValue& value) {
  if (!value.is_object()) {
    if (value.string() != back_to_back) value.fail("back_to_back, or an object of added_us and l2");
    return {};
  }
  JsonObject object = value.object();
  const Timing timing{object.number_or("added_us", 0, 0, most_added_us), object.word_or("l2", L2Before::kept)};
  object.finish();
  return timing;
}

Case case_from_json(const nlohmann::json& json) {
  JsonObject object(json);
  Case result;
  result.id = object.string("id");
  result.gpus = static_cast<int>(object.integer("gpus", gpu_counts.least, gpu_counts.most));
  result.workload = read_workload(object.object("workload"));
  if (const auto schedule = object.find("schedule")) result.schedule = read_schedule_choice(schedule->object());
  if (const auto measured = object.find("measured")) {
    if (!std::holds_alternative<PairWorkload>(result.workload) &&
        !std::holds_alternative<ConcurrentPair>(result.workload))
      throw InputError("measured",
                       "expected a workload of a GEMM and a collective, got " + std::string(op_of(result.workload)));
    result.measured = read_measured(measured->object());
  }
  if (const auto condition = object.find("condition")) result.condition = read_condition(*condition);
  if (const auto timing = object.find("timing")) result.condition.timing = read_timing(*timing);
  object.finish();
  check_sizes(result.workload, result.gpus);
  return result;
}

nlohmann::ordered_json to_json(const Workload& workload) {
  nlohmann::ordered_json json{{"op", op_of(workload)}};
  write(json, fields_of(workload));
  return json;
}

nlohmann::ordered_json to_json(const ScheduleChoice& choice) {
  nlohmann::ordered_json json{{"family", family_of(choice)}};
  write(json, rules_of(choice.family).fields(choice.family));
  write(json, fields_of(choice));
  return json;
}

nlohmann::ordered_json to_json(const RunCondition& condition) {
  if (condition.fixed_clock_MHz == 0) return name_of(condition.condition);
  nlohmann::ordered_json json{{condition.is_of_mix ? "mix_clock_MHz" : "clock_MHz", condition.fixed_clock_MHz}};
  if (condition.late_kernels) json["late_kernels"] = true;
  if (condition.library_on_branch) json["library_on_branch"] = true;
  return json;
}

nlohmann::ordered_json to_json(const Timing& timing) {
  if (timing == Timing{}) return back_to_back;
  return {{"added_us", timing.added_us}, {"l2", name_of(timing.l2)}};
}

nlohmann::ordered_json to_json(const Case& value) {
  nlohmann::ordered_json json{{"id", value.id}, {"gpus", value.gpus}};
  json["workload"] = to_json(value.workload);
  json["schedule"] = to_json(value.schedule);
  nlohmann::ordered_json measured;
  write(measured, fields_of(value.measured));
  if (!measured.empty()) json["measured"] = std::move(measured);
  const Timing& timing = value.condition.timing;
  if (value.condition != RunCondition{.timing = timing}) json["condition"] = to_json(value.condition);
  if (timing != Timing{}) json["timing"] = to_json(timing);
  return json;
}

}  // namespace weft::scenarios
