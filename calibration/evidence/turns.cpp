#include "calibration/evidence/turns.hpp"

#include <map>
#include <string>
#include <utility>

#include "scenarios/study/in_turn.hpp"
#include "scenarios/study/parallel.hpp"
#include "sim/simulated_executor.hpp"

namespace weft::calibration::evidence {
namespace {

/// Places in `measured` of each mix.
std::vector<std::vector<std::size_t>> mixes_of(const std::vector<MeasuredCase>& measured) {
  std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> by_first;
  for (std::size_t i = 0; i < measured.size(); ++i)
    if (!measured[i].in_turn_with.empty()) by_first[{measured[i].run, measured[i].in_turn_with}].push_back(i);
  std::vector<std::vector<std::size_t>> mixes;
  for (auto& [first, places] : by_first) mixes.push_back(std::move(places));
  return mixes;
}

}  // namespace

std::vector<MeasuredCase> in_their_mixes(std::vector<MeasuredCase> measured, const Machine& machine,
                                         const sim::Mechanisms& mechanisms, const Progress& progress) {
  const std::vector<std::vector<std::size_t>> mixes = mixes_of(measured);
  ProgressCounter done(progress, mixes.size());
  sim::SimulatedExecutor executor({.spans = false, .mechanisms = mechanisms, .given_us = {}});
  scenarios::study::for_each_index(mixes.size(), [&](std::size_t index) {
    std::vector<scenarios::Case> cases;
    for (const std::size_t place : mixes[index]) cases.push_back(measured[place].request);
    cases = scenarios::study::in_turn(std::move(cases), machine, executor, executor.mix_clock());
    for (std::size_t i = 0; i < cases.size(); ++i) measured[mixes[index][i]].request = std::move(cases[i]);
    done.add();
  });
  return measured;
}

}  // namespace weft::calibration::evidence
