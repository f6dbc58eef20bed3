// pairs: a layer whose pairs of a GEMM and a collective run each in its own way. layer.cpp says how they stand in it.
#include <algorithm>

#include "models/base/input_error.hpp"
#include "scenarios/families/families.hpp"
#include "scenarios/families/layer_pairs.hpp"
#include "scenarios/families/layer_program.hpp"
#include "scenarios/family_rules.hpp"
#include "scenarios/pair_schedule.hpp"

namespace weft::scenarios::families {
namespace {

struct PairsRules {
  static constexpr std::string_view name = "pairs";
  static constexpr std::string_view meaning = "a layer whose pairs run each in its own way";
  static std::string in_words(const Pairs& choice) {
    std::string words;
    for (const auto& [key, pair] : named_pairs)
      if (const auto& schedule = choice.*pair)
        words += ", " + std::string(key) + ": " + describe(alone(*schedule, ScheduleChoice{}));
    return words;
  }
  static Schedule build(const Case& request, const Machine& machine);
  static bool is_open(const Pairs& choice) {
    return std::any_of(named_pairs.begin(), named_pairs.end(), [&](const auto& named) {
      const auto& schedule = choice.*named.second;
      if (!schedule) return false;
      const ScheduleChoice pair = alone(*schedule, {});
      return rules_of(pair.family).is_open(pair.family);
    });
  }
  static std::vector<Family> searched(const Case& request, const Machine& machine) {
    layer_of(request);  // refuses what has none
    return searched_pairs(request, std::get<Pairs>(request.schedule.family), machine);
  }
};

Schedule PairsRules::build(const Case& request, const Machine& machine) {
  const LayerWorkload& layer = layer_of(request);
  const std::vector<LayerPair> known = pairs_of(layer);
  OverlappedPairs pairs;
  for (std::size_t index = 0; index < named_pairs.size(); ++index) {
    const auto& [key, pair] = named_pairs[index];
    const auto& schedule = std::get<Pairs>(request.schedule.family).*pair;
    if (!schedule) continue;
    if (std::find(known.begin(), known.end(), static_cast<LayerPair>(index)) == known.end())
      throw InputError("schedule." + std::string(key), "expected none: this layer has no such pair");
    pairs.of(static_cast<LayerPair>(index)) = alone(*schedule, request.schedule);
  }
  return build_layer(request, layer, std::move(pairs), machine);
}

}  // namespace
}  // namespace weft::scenarios::families

constinit const weft::scenarios::FamilyRules weft::scenarios::Pairs::rules =
    FamilyRules::of<Pairs, families::PairsRules>();
