#include "scenarios/study/comparison.hpp"

#include <map>
#include <string>

#include "scenarios/study/odds.hpp"

namespace weft::scenarios::study {

std::vector<Case> named_cases(const Case& request, const Machine& machine) {
  std::vector<Case> cases = candidates(
      request.workload, request.gpus, {.fused_norm_ctas = fused_norm_ctas(machine), .launch = request.schedule.launch});
  for (Case& one : cases) {
    one.measured = request.measured;
    one.schedule.implementation = request.schedule.implementation;
  }
  return cases;
}

Comparison compare(const std::vector<Case>& cases, const Machine& machine, Executor& executor, bool only_runnable) {
  std::vector<Case> possible;
  std::map<std::string, Prediction> by_id;
  for (const Case& one : cases) {
    Prediction prediction = predict(one, machine, executor, {.serial = false});
    if (only_runnable && !prediction.runnable && !possible.empty()) continue;
    possible.push_back(one);
    possible.back().schedule = prediction.choice;
    by_id.insert_or_assign(one.id, std::move(prediction));
  }
  const auto estimate = [&](const Case& one) -> Estimate {
    const Prediction& prediction = by_id.at(one.id);
    return {prediction.time_us, prediction.low_us, prediction.high_us};
  };
  Comparison comparison{rank(possible, estimate, judge_of(machine)), {}};
  for (const Candidate& candidate : comparison.ranking.fastest_first)
    comparison.fastest_first.push_back(by_id.at(candidate.request.id));
  return comparison;
}

}  // namespace weft::scenarios::study
