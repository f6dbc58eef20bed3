#include "scenarios/family_rules.hpp"

#include <array>
#include <utility>

namespace weft::scenarios {
namespace {

template <std::size_t... index>
constexpr std::array<const FamilyRules*, sizeof...(index)> families_at(std::index_sequence<index...>) {
  return {&std::variant_alternative_t<index, Family>::rules...};
}
constexpr auto registry = families_at(std::make_index_sequence<std::variant_size_v<Family>>());

}  // namespace

const FamilyRules& rules_of(const Family& family) { return *registry[family.index()]; }

std::span<const FamilyRules* const> all_families() { return registry; }

std::vector<std::string> searched_families() {
  std::vector<std::string> names{std::string(Serial::rules.name)};
  for (const FamilyRules* rules : all_families())
    if (rules->candidates != nullptr && rules != &Hybrid::rules) names.emplace_back(rules->name);
  return names;
}

std::string_view family_of(const ScheduleChoice& choice) { return rules_of(choice.family).name; }

std::string describe(const ScheduleChoice& choice) {
  std::string text = std::string(family_of(choice)) + rules_of(choice.family).in_words(choice.family);
  if (choice.max_ctas > 0) text += ", max_ctas " + std::to_string(choice.max_ctas);
  if (choice.launch == Launch::eager) text += ", eager";
  if (choice.max_connections > 0) text += ", max_connections " + std::to_string(choice.max_connections);
  if (choice.host != Host::pytorch) text += ", host " + std::string(name_of(choice.host));
  if (choice.collectives != Collectives::nccl) text += ", collectives " + std::string(name_of(choice.collectives));
  if (choice.implementation == Implementation::pytorch) text += ", by PyTorch";
  return text;
}

}  // namespace weft::scenarios
