#include "scenarios/study/exploration_json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/base/text.hpp"
#include "scenarios/case_json.hpp"
#include "scenarios/study/ficco_choice.hpp"
#include "scenarios/study/verdict_json.hpp"

namespace weft::scenarios::study {
namespace {

using nlohmann::ordered_json;

ordered_json json_of(const Losses& losses) {
  ordered_json parts;
  for (const auto& [cause, name] : NamesOf<Cause>::names) parts[std::string(name) + "_ps"] = losses.of(cause);
  return {{"time_ps", losses.time_ps},
          {"perfect_overlap_ps", losses.overlap_ps},
          {"lost_ps", losses.whole_ps()},
          {"largest", name_of(losses.largest())},
          {"parts", parts}};
}

ordered_json json_of(const Inefficiency& inefficiency) {
  return {{"gemm_dil", inefficiency.gemm_dil},
          {"transfer_dil", inefficiency.transfer_dil},
          {"gemm_cil", inefficiency.gemm_cil},
          {"transfer_cil", inefficiency.transfer_cil}};
}

ordered_json json_of(const Explored& one) {
  const Estimate& estimate = one.candidate.estimate;
  ordered_json json{{"schedule", to_json(one.candidate.request.schedule)},
                    {"time_us", estimate.time_us},
                    {"interval_us", {estimate.low_us, estimate.high_us}},
                    {"speedup", one.candidate.speedup},
                    {"odds", to_json(one.candidate.odds)},
                    {"bound_us", one.bound_us},
                    {"limited_by", name_of(one.limited_by)},
                    {"grade", one.grade ? ordered_json(name_of(*one.grade)) : ordered_json()},
                    {"runnable", one.runnable}};
  if (!one.runnable) json["not_runnable"] = one.not_runnable;
  if (one.losses) json["losses"] = json_of(*one.losses);
  if (one.inefficiency) json["inefficiency"] = json_of(*one.inefficiency);
  if (one.reordering)
    json["next_kernel"] = {{"reorders", one.reordering->unit},
                           {"rms_norm_share", one.reordering->share},
                           {"rms_norm_us", one.reordering->time_us}};
  return json;
}

ordered_json json_of(const FiccoChoice& choice) {
  return {{"rule", to_json(choice.rule)},
          {"rule_time_us",
           choice.by_rule == nullptr ? ordered_json() : ordered_json(choice.by_rule->candidate.estimate.time_us)},
          {"fastest", to_json(choice.fastest->candidate.request.schedule)},
          {"fastest_time_us", choice.fastest->candidate.estimate.time_us}};
}

ordered_json json_of(const Answer& answer, const Machine& machine) {
  ordered_json schedules = ordered_json::array();
  for (const Explored& one : answer.fastest_first) schedules.push_back(json_of(one));
  ordered_json json{{"pair", answer.pair},
                    {"form", answer.form ? ordered_json(name_of(*answer.form)) : ordered_json()},
                    {"workload", to_json(answer.fastest().candidate.request.workload)},
                    {"size", answer.size},
                    {"verdict", verdict(answer)},
                    {"advice", to_json(answer.ranking.advice().request.schedule)},
                    {"deadlocks", answer.stuck},
                    {"schedules", schedules}};
  if (const FiccoChoice choice = ficco_choice(answer, machine); choice.fastest != nullptr)
    json["ficco"] = json_of(choice);
  const Explored* runnable = answer.fastest_runnable();
  json["fastest_runnable"] = runnable == nullptr ? ordered_json() : to_json(runnable->candidate.request.schedule);
  return json;
}

}  // namespace

std::string verdict(const Answer& answer) {
  const Ranking& ranking = answer.ranking;
  const Candidate& advice = ranking.advice();
  const bool is_serial = std::holds_alternative<Serial>(advice.request.schedule.family);
  if (ranking.overlap_pays())
    return std::string(is_serial ? "Faster collectives: " : "Overlap: ") + advice.request.id + ", " +
           fixed(advice.speedup, 3) + "x over serial (" + fixed(ranking.saved_us(), 0) + " us saved), faster with " +
           fixed(100 * advice.odds.faster, 0) + " %.";
  if (!ranking.may_overlap()) return "Nothing overlaps: no schedule fits so many rows.";
  if (ranking.serial == 0) {
    const auto out_of_reach = std::ranges::find_if(ranking.fastest_first, [](const Candidate& one) {
      return one.why_not == WhyNot::needs_peer_access && one.speedup > 1;
    });
    if (out_of_reach == ranking.fastest_first.end()) return "Serial wins: overlap does not pay.";
    return "Serial wins: " + out_of_reach->request.id + " is faster, and needs peer access.";
  }
  switch (ranking.fastest().why_not) {
    case WhyNot::assumed:
      return "Stay with serial: " + ranking.fastest().request.id + " is faster by numbers that are assumed.";
    case WhyNot::needs_peer_access:
      return "Stay with serial: " + ranking.fastest().request.id + " is faster, and needs peer access.";
    case WhyNot::nothing:
      break;
  }
  return "Stay with serial: " + ranking.fastest().request.id + " is faster with " +
         fixed(100 * ranking.fastest().odds.faster, 0) + " % only.";
}

ordered_json to_json(const Exploration& exploration, const Scenario& scenario, const Machine& machine,
                     const std::vector<Crossover>& crossovers, const std::optional<Evidence>& evidence) {
  ordered_json answers = ordered_json::array(), layers = ordered_json::array();
  for (const Answer& answer : exploration.answers) answers.push_back(json_of(answer, machine));
  for (const LayerAnswer& layer : exploration.layers)
    layers.push_back({{"tokens", layer.size},
                      {"form", name_of(layer.form)},
                      {"serial_us", layer.serial_us},
                      {"saved_us", layer.saved_us},
                      {"saved_by_pairs_us", layer.saved_by_pairs_us}});
  return {{"scenario", scenario.name},
          {"machine", machine.name},
          {"gpus", scenario.gpus},
          {"ignored", scenario.model ? scenario.model->ignored : std::vector<std::string>{}},
          {"verdict", to_json(verdict_of(exploration, scenario))},
          {"grade", evidence ? ordered_json(name_of(evidence->grade)) : ordered_json()},
          {"outside_calibration", evidence ? evidence->outside : std::vector<std::string>{}},
          {"crossovers", to_json(crossovers)},
          {"schedules_simulated", exploration.simulated},
          {"answers", answers},
          {"layers", layers}};
}

}  // namespace weft::scenarios::study
