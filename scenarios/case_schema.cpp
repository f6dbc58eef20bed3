#include "scenarios/case_schema.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "scenarios/case_json.hpp"
#include "scenarios/family_rules.hpp"
#include "scenarios/pair_schedule.hpp"
#include "scenarios/workload.hpp"

namespace weft::scenarios {
namespace {

using nlohmann::ordered_json;

ordered_json integers(const Range& range) {
  return {{"type", "integer"}, {"minimum", range.least}, {"maximum", range.most}};
}

ordered_json number(const Field& field) {
  ordered_json schema{{"type", "number"}};
  schema[field.excludes_least ? "exclusiveMinimum" : "minimum"] = field.about.range.least;
  return schema;
}

ordered_json value_of(const Field& field) {
  switch (field.type) {
    case FieldType::flag:
      return {{"type", "boolean"}};
    case FieldType::integer:
      return integers(field.about.range);
    case FieldType::number:
      return number(field);
    case FieldType::word:
      return {{"enum", field.words()}};
    case FieldType::words:
      return {{"type", "array"}, {"items", {{"enum", searched_families()}}}, {"minItems", 1}};
    case FieldType::pair_schedule:
      return {{"$ref", "#/$defs/pair_schedule"}};
    case FieldType::integers:
      break;
  }
  return {{"type", "array"}, {"items", integers(field.about.range)}, {"minItems", 1}};
}

std::string default_of(const Field& field) {
  if (field.type == FieldType::word) return std::get<std::string>(field.otherwise);
  return std::visit([](const auto& value) { return ordered_json(value).dump(); }, field.otherwise);
}

/// "which is launched first; left out: collective".
std::string meaning_of(const Field& field) {
  std::string meaning = field.about.meaning;
  const bool has_default = field.otherwise != FieldValue{} || field.type == FieldType::flag;
  if (field.is_required || !has_default || meaning.find("left out: ") != std::string::npos) return meaning;
  return meaning + (meaning.empty() ? "" : "; ") + "left out: " + default_of(field);
}

ordered_json schema_of(const Field& field) {
  ordered_json schema = value_of(field);
  if (field.may_be_searched) schema = {{"oneOf", {schema, {{"const", "searched"}}}}};
  if (const std::string meaning = meaning_of(field); !meaning.empty()) schema["description"] = meaning;
  return schema;
}

/// `properties` and `required` hold what stands before the fields.
ordered_json object_of(std::string_view meaning, ordered_json properties, ordered_json required,
                       const std::vector<Field>& fields) {
  for (const Field& field : fields) {
    if (!field.is_offered) continue;
    properties[field.key] = schema_of(field);
    if (field.is_required) required.push_back(field.key);
  }
  return {{"type", "object"},
          {"description", meaning},
          {"properties", std::move(properties)},
          {"required", std::move(required)},
          {"additionalProperties", false}};
}

/// With the keys that others bring as an alternative of its own.
std::vector<Workload> forms_of(const Workload& workload) {
  if (!std::holds_alternative<LayerWorkload>(workload)) return {workload};
  return {workload, LayerWorkload{.experts = max_extent}};
}

/// One alternative for all ops with the same keys.
ordered_json workload_schema() {
  ordered_json alternatives = ordered_json::array();
  for (const Workload& op : workload_of_each_op())
    for (const Workload& workload : forms_of(op)) {
      const char* const meaning = std::visit([](const auto& one) { return one.meaning; }, workload);
      ordered_json schema =
          object_of(meaning, {{"op", {{"enum", ordered_json::array()}}}}, {"op"}, fields_of(workload));
      const auto same = std::find_if(alternatives.begin(), alternatives.end(), [&](ordered_json one) {
        one["properties"]["op"]["enum"] = ordered_json::array();
        return one == schema;
      });
      ordered_json& found = same == alternatives.end() ? alternatives.emplace_back(std::move(schema)) : *same;
      found["properties"]["op"]["enum"].push_back(op_of(workload));
    }
  return {{"oneOf", std::move(alternatives)}};
}

ordered_json schedule_schema() {
  ordered_json alternatives = ordered_json::array();
  for (const FamilyRules* rules : all_families()) {
    const Family family = rules->defaults();
    std::vector<Field> fields = rules->fields(family);
    for (Field& field : fields_of(ScheduleChoice{family})) fields.push_back(std::move(field));
    alternatives.push_back(object_of(rules->meaning, {{"family", {{"enum", {rules->name}}}}}, {"family"}, fields));
  }
  return {{"oneOf", std::move(alternatives)}};
}

ordered_json pair_schedule_schema() {
  ordered_json alternatives = ordered_json::array();
  for (const FamilyRules* rules : families_of_pairs()) {
    std::vector<Field> fields = rules->fields(rules->defaults());
    for (Field& field : fields_of(ScheduleChoice{}))
      if (field.key == "max_ctas") fields.push_back(std::move(field));
    alternatives.push_back(object_of(rules->meaning, {{"family", {{"enum", {rules->name}}}}}, {"family"}, fields));
  }
  return {{"oneOf", std::move(alternatives)}};
}

ordered_json condition_schema() {
  ordered_json words = ordered_json::array();
  for (const auto& [condition, word] : NamesOf<Condition>::names) words.push_back(word);
  const ordered_json clock{{"type", "number"}, {"minimum", least_clock_MHz}, {"maximum", most_clock_MHz}};
  const auto at = [&](const char* key) {
    return ordered_json{
        {"type", "object"}, {"properties", {{key, clock}}}, {"required", {key}}, {"additionalProperties", false}};
  };
  ordered_json of_mix = at("mix_clock_MHz");
  of_mix["properties"]["late_kernels"] = {
      {"type", "boolean"}, {"description", "two streams once ran kernels at one time outside of a graph"}};
  of_mix["properties"]["library_on_branch"] = {
      {"type", "boolean"}, {"description", "a graph of the mix has a collective of the library on a branch"}};
  return {{"description", "what the GPUs were doing before; left out: sustained"},
          {"oneOf", {{{"enum", words}}, at("clock_MHz"), of_mix}}};
}

ordered_json timing_schema() {
  ordered_json words = ordered_json::array();
  for (const auto& [l2, word] : NamesOf<L2Before>::names) words.push_back(word);
  const ordered_json object{
      {"type", "object"},
      {"properties",
       {{"added_us",
         {{"type", "number"},
          {"minimum", 0},
          {"maximum", most_added_us},
          {"description", "to each iteration, by the events around it and launches that nothing hides"}}},
        {"l2",
         {{"enum", words},
          {"description", "what an operation finds there: cold, nothing; flushed, what its own iteration left"}}}}},
      {"additionalProperties", false}};
  return {{"description", "how an iteration is timed; left out: back_to_back"},
          {"oneOf", {{{"enum", {back_to_back}}}, object}}};
}

}  // namespace

ordered_json case_schema() {
  const ordered_json properties{{"id", {{"type", "string"}}},
                                {"gpus",
                                 {{"type", "integer"},
                                  {"minimum", gpu_counts.least},
                                  {"maximum", gpu_counts.most},
                                  {"description", "the first so many GPUs of the machine"}}},
                                {"workload", {{"$ref", "#/$defs/workload"}}},
                                {"schedule", {{"$ref", "#/$defs/schedule"}, {"description", "left out: serial"}}},
                                {"measured", {{"$ref", "#/$defs/measured"}}},
                                {"condition", {{"$ref", "#/$defs/condition"}}},
                                {"timing", {{"$ref", "#/$defs/timing"}}}};
  return {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
          {"title", "A case of weft predict: one line"},
          {"description", "docs/formats.md says what the keys mean."},
          {"type", "object"},
          {"properties", properties},
          {"required", {"id", "gpus", "workload"}},
          {"additionalProperties", false},
          {"$defs",
           {{"workload", workload_schema()},
            {"schedule", schedule_schema()},
            {"pair_schedule", pair_schedule_schema()},
            {"measured",
             object_of(Measured::meaning, ordered_json::object(), ordered_json::array(), fields_of(Measured{}))},
            {"condition", condition_schema()},
            {"timing", timing_schema()},
            {"searched_family", {{"enum", searched_families()}}}}}};
}

}  // namespace weft::scenarios
