#include "tools/report/ficco_report.hpp"

#include <nlohmann/json.hpp>
#include <sstream>

#include "models/base/text.hpp"
#include "scenarios/case_json.hpp"
#include "scenarios/ficco_rule.hpp"
#include "tools/report/table.hpp"
#include "tools/rooms.hpp"

namespace weft::tools::report {
namespace {

using scenarios::Ficco;
using scenarios::ScheduleChoice;

const Ficco* ficco_of(const study::Explored& one) { return std::get_if<Ficco>(&one.candidate.request.schedule.family); }

/// The schedule of the rule and the fastest of FiCCO's, where the pair has any.
struct Choices {
  ScheduleChoice rule;
  const study::Explored* by_rule = nullptr;  ///< null: no candidate
  const study::Explored* fastest = nullptr;  ///< null: no schedule of FiCCO at all
};

Choices choices_of(const study::Answer& answer, const Machine& machine) {
  Choices choices;
  for (const study::Explored& one : answer.fastest_first) {
    if (ficco_of(one) == nullptr) continue;
    if (choices.fastest == nullptr) {
      const scenarios::Case& request = one.candidate.request;
      choices.fastest = &one;
      choices.rule = {ficco_rule(std::get<scenarios::PairWorkload>(request.workload), machine), 0,
                      request.schedule.launch};
    }
    if (one.candidate.request.schedule == choices.rule) choices.by_rule = &one;
  }
  return choices;
}

std::string sentence(const Choices& choices) {
  const std::string rule = "FiCCO's rule chooses " + describe(choices.rule);
  if (choices.by_rule == nullptr) return rule + ", which these sizes do not have.";
  if (choices.by_rule == choices.fastest) return rule + ", as the simulator does.";
  const double ratio = choices.by_rule->candidate.estimate.time_us / choices.fastest->candidate.estimate.time_us;
  return rule + "; the simulator's choice, " + choices.fastest->candidate.request.id + ", is " + fixed(ratio, 3) +
         "x as fast.";
}

}  // namespace

std::string ficco_text(const study::Answer& answer, const Machine& machine) {
  const Choices choices = choices_of(answer, machine);
  if (choices.fastest == nullptr) return "";
  Table table({"schedule", "us", "GEMM DIL", "GEMM CIL", "transfer DIL", "transfer CIL"});
  for (const study::Explored& one : answer.fastest_first)
    if (const auto& losses = one.inefficiency)
      table.add({one.candidate.request.id, fixed(one.candidate.estimate.time_us, 1), fixed(losses->gemm_dil, 3),
                 fixed(losses->gemm_cil, 3), fixed(losses->transfer_dil, 3), fixed(losses->transfer_cil, 3)});
  std::ostringstream text;
  text << "\nWhat FiCCO's schedules lose by decomposition (DIL) and contention (CIL); 1 is no loss:\n"
       << table << sentence(choices) << '\n';
  return text.str();
}

nlohmann::ordered_json to_json(const study::Inefficiency& inefficiency) {
  return {{"gemm_dil", inefficiency.gemm_dil},
          {"transfer_dil", inefficiency.transfer_dil},
          {"gemm_cil", inefficiency.gemm_cil},
          {"transfer_cil", inefficiency.transfer_cil}};
}

nlohmann::ordered_json ficco_json(const study::Answer& answer, const Machine& machine) {
  const Choices choices = choices_of(answer, machine);
  if (choices.fastest == nullptr) return nullptr;
  const auto time_us = [](const study::Explored* one) {
    return one == nullptr ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(one->candidate.estimate.time_us);
  };
  return {{"rule", scenarios::to_json(choices.rule)},
          {"rule_time_us", time_us(choices.by_rule)},
          {"fastest", scenarios::to_json(choices.fastest->candidate.request.schedule)},
          {"fastest_time_us", time_us(choices.fastest)}};
}

}  // namespace weft::tools::report
