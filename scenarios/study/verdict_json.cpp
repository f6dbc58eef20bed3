#include "scenarios/study/verdict_json.hpp"

#include <nlohmann/json.hpp>

#include "scenarios/case_json.hpp"

namespace weft::scenarios::study {
namespace {

using nlohmann::ordered_json;

ordered_json json_of(const Plan& plan, std::int64_t layers) {
  ordered_json schedules = ordered_json::array();
  for (const auto& [pair, one] : plan.schedules)
    schedules.push_back({{"pair", pair.empty() ? ordered_json() : ordered_json(pair)},
                         {"schedule", to_json(one->candidate.request.schedule)}});
  return {{"plan", plan.name},
          {"time_us", plan.time_us},
          {"prefill_ms", plan.time_us * static_cast<double>(layers) * 1e-3},
          {"odds", to_json(plan.odds)},
          {"schedules", schedules}};
}

}  // namespace

ordered_json to_json(const Odds& odds) {
  return {{"probability_faster", odds.faster}, {"expected_gain", odds.gain}, {"worst_of_20_gain", odds.worst_gain}};
}

ordered_json to_json(const Verdict& verdict) {
  ordered_json sizes = ordered_json::array();
  for (const SizePlans& one : verdict.sizes)
    sizes.push_back({{"size", one.size},
                     {"baseline", json_of(one.baseline, verdict.layers)},
                     {"best", json_of(one.best, verdict.layers)},
                     {"runnable", one.runnable ? json_of(*one.runnable, verdict.layers) : ordered_json()},
                     {"of_others", one.of_others ? json_of(*one.of_others, verdict.layers) : ordered_json()}});
  ordered_json json{{"pays_from", verdict.pays_from ? ordered_json(*verdict.pays_from) : ordered_json()},
                    {"pays_by", verdict.overlaps ? "overlap" : "faster collectives"},
                    {"of", verdict.is_of_layers ? "layer" : "pairs"},
                    {"layers", verdict.layers},
                    {"memory_GB", nullptr},
                    {"sizes", sizes}};
  if (const auto& memory = verdict.memory)
    json["memory_GB"] = {{"weights", memory->weights_GB},
                         {"keys_values", memory->keys_values_GB},
                         {"activations", memory->activations_GB}};
  return json;
}

ordered_json to_json(const std::vector<Crossover>& crossovers) {
  ordered_json json = ordered_json::array();
  for (const Crossover& one : crossovers) {
    ordered_json row{{"pattern", one.pattern},
                     {"gpus", one.gpus},
                     {"pays_from", one.pays_from ? ordered_json(*one.pays_from) : ordered_json()}};
    if (!one.reason.empty()) row["reason"] = one.reason;
    json.push_back(row);
  }
  return json;
}

}  // namespace weft::scenarios::study
