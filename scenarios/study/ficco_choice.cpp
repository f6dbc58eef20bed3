#include "scenarios/study/ficco_choice.hpp"

#include "scenarios/ficco_rule.hpp"

namespace weft::scenarios::study {

FiccoChoice ficco_choice(const Answer& answer, const Machine& machine) {
  FiccoChoice choice;
  for (const Explored& one : answer.fastest_first) {
    const Case& request = one.candidate.request;
    if (!std::holds_alternative<Ficco>(request.schedule.family)) continue;
    if (choice.fastest == nullptr) {
      choice.fastest = &one;
      choice.rule = {ficco_rule(std::get<PairWorkload>(request.workload), machine), 0, request.schedule.launch};
    }
    if (request.schedule == choice.rule) choice.by_rule = &one;
  }
  return choice;
}

}  // namespace weft::scenarios::study
