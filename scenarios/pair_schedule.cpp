#include "scenarios/pair_schedule.hpp"

#include "models/base/text.hpp"

namespace weft::scenarios {
namespace {

template <std::size_t... index>
std::vector<PairFamily> one_of_each(std::index_sequence<index...>) {
  return {std::variant_alternative_t<index, PairFamily>{}...};
}
std::vector<PairFamily> one_of_each() {
  return one_of_each(std::make_index_sequence<std::variant_size_v<PairFamily>>());
}

Family as_family(const PairFamily& pair) {
  return std::visit([](const auto& choice) { return Family(choice); }, pair);
}

/// Of a family that runs inside of layers.
std::optional<PairFamily> as_pair(const Family& family) {
  return std::visit(
      [](const auto& choice) -> std::optional<PairFamily> {
        if constexpr (std::is_constructible_v<PairFamily, decltype(choice)>) return PairFamily(choice);
        return std::nullopt;
      },
      family);
}

constexpr About limit_of_ctas{counts, "NCCL's maxCTAs for this pair; left out: its default"};

}  // namespace

std::vector<const FamilyRules*> families_of_pairs() {
  std::vector<const FamilyRules*> all;
  for (const PairFamily& family : one_of_each()) all.push_back(&rules_of(as_family(family)));
  return all;
}

ScheduleChoice alone(const PairSchedule& pair, const ScheduleChoice& layer) {
  ScheduleChoice choice = layer;
  choice.family = as_family(pair.family);
  choice.max_ctas = pair.max_ctas;
  return choice;
}

std::optional<PairSchedule> inside_layer(const ScheduleChoice& choice) {
  const std::optional<PairFamily> family = as_pair(choice.family);
  if (!family) return std::nullopt;
  return PairSchedule{*family, choice.max_ctas};
}

int row_chunks(const PairSchedule& pair) {
  if (const auto* chunked = std::get_if<Decomposition>(&pair.family)) return chunked->chunks;
  const auto* hybrid = std::get_if<Hybrid>(&pair.family);
  return hybrid != nullptr && hybrid->pieces == HybridPieces::chunks ? hybrid->count : 1;
}

void FieldReader::pair_schedule(std::string_view key, std::optional<PairSchedule>& value, const About&) {
  value.reset();
  const auto found = object_.find(key);
  if (!found) return;
  JsonObject object = found->object();
  const JsonValue family = object.at("family");
  std::vector<std::string> known;
  for (const FamilyRules* rules : families_of_pairs()) {
    known.emplace_back(rules->name);
    if (rules->name != family.string()) continue;
    PairSchedule& pair = value.emplace(PairSchedule{*as_pair(rules->read(object))});
    FieldReader(object).optional("max_ctas", pair.max_ctas, 0, limit_of_ctas);
    return object.finish();
  }
  family.fail("one of " + joined(known));
}

void FieldList::pair_schedule(std::string_view key, const std::optional<PairSchedule>& value, const About& about) {
  Field& field = fields.emplace_back();
  field.key = key;
  field.type = FieldType::pair_schedule;
  field.about = about;
  field.is_written = value.has_value();
  if (!value) return;
  const Family family = as_family(value->family);
  FieldList list;
  Field& name = list.fields.emplace_back();
  name.key = "family";
  name.type = FieldType::word;
  name.value = std::string(rules_of(family).name);
  for (Field& one : rules_of(family).fields(family)) list.fields.push_back(std::move(one));
  list.optional("max_ctas", value->max_ctas, 0, limit_of_ctas);
  field.fields = std::move(list.fields);
}

}  // namespace weft::scenarios
