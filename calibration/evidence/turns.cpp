#include "calibration/evidence/turns.hpp"

#include <map>
#include <string>
#include <utility>

#include "calibration/evidence/accuracy.hpp"
#include "scenarios/study/in_turn.hpp"
#include "sim/simulated_executor.hpp"

namespace weft::calibration::evidence {
namespace {

scenarios::study::Mixes measured_mixes(const std::vector<MeasuredCase>& measured) {
  std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> by_first;
  for (std::size_t i = 0; i < measured.size(); ++i)
    if (!measured[i].in_turn_with.empty()) by_first[{measured[i].run, measured[i].in_turn_with}].push_back(i);
  scenarios::study::Mixes mixes;
  for (auto& [first, places] : by_first) mixes.push_back(std::move(places));
  return mixes;
}

}  // namespace

std::vector<MeasuredCase> in_their_mixes(std::vector<MeasuredCase> measured, const Machine& machine,
                                         const sim::Mechanisms& mechanisms, const Progress& progress) {
  sim::SimulatedExecutor executor({.spans = false, .mechanisms = mechanisms, .given_us = {}});
  std::vector<scenarios::Case> cases;
  for (const MeasuredCase& one : measured) cases.push_back(in_its_condition(one));
  const scenarios::study::Mixes mixes = measured_mixes(measured);
  const auto clock_of = [&](std::size_t mix) -> scenarios::study::MixClock {
    const MeasuredCase& one = measured[mixes[mix].front()];
    if (!one.beside_guests) return executor.mix_clock();
    return [&](const std::vector<Schedule>& schedules, const Machine& of_mix) {
      return executor.clock_at_mean_MHz(schedules, of_mix, one.sm_clock_MHz);
    };
  };
  cases = scenarios::study::in_turn(std::move(cases), mixes, machine, executor, clock_of, progress);
  for (std::size_t i = 0; i < cases.size(); ++i) measured[i].request = std::move(cases[i]);
  return measured;
}

}  // namespace weft::calibration::evidence
