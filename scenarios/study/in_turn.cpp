#include "scenarios/study/in_turn.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "models/base/input_error.hpp"
#include "models/base/json_file.hpp"
#include "models/cost/late_kernels.hpp"
#include "models/execution/execution_error.hpp"
#include "models/schedule/facts.hpp"
#include "scenarios/case_json.hpp"
#include "scenarios/study/parallel.hpp"
#include "scenarios/study/prediction.hpp"
#include "scenarios/study/settle.hpp"

namespace weft::scenarios::study {
namespace {

struct LineOfCase {
  std::size_t line;
  nlohmann::json json;
};

struct Turns {
  std::vector<Case*> cases;
  std::vector<Schedule> schedules;  ///< of each
};

/// Whether it can be done. Otherwise it says by itself why not, when it is asked for.
template <class Do>
bool succeeds(const Do& do_it) {
  try {
    do_it();
    return true;
  } catch (const InputError&) {
  } catch (const ExecutionError&) {
  }
  return false;
}

/// Those that cannot be simulated.
void drop_those_that_fail(Turns& turns, const Machine& machine, const MixClock& clock_of_mix_MHz) {
  for (std::size_t i = turns.cases.size(); i-- > 0;) {
    if (!succeeds([&] { clock_of_mix_MHz({turns.schedules[i]}, machine); })) {
      turns.cases.erase(turns.cases.begin() + static_cast<std::ptrdiff_t>(i));
      turns.schedules.erase(turns.schedules.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
}

/// Of the cases that are left.
double clock_of_MHz(Turns& turns, const Machine& machine, const MixClock& clock_of_mix_MHz) {
  double clock_MHz = 0;
  const auto find_clock = [&] { clock_MHz = clock_of_mix_MHz(turns.schedules, machine); };
  if (succeeds(find_clock)) return clock_MHz;
  drop_those_that_fail(turns, machine, clock_of_mix_MHz);
  if (!turns.cases.empty()) find_clock();
  return clock_MHz;
}

/// The kernels of the process in which an implementation's schedules take turns.
bool are_late(const Turns& turns, Implementation implementation) {
  const RunCondition& condition = turns.cases.front()->condition;
  return std::ranges::any_of(turns.schedules, [&](const Schedule& schedule) {
    return schedule.implementation == implementation && makes_kernels_late(schedule, condition);
  });
}

}  // namespace

std::vector<Case> in_turn(std::vector<Case> mix, const Machine& machine, Executor& executor,
                          const MixClock& clock_of_mix_MHz) {
  Turns turns;
  for (Case& one : mix) {
    succeeds([&] {
      require_gpus(one.gpus, machine);
      Closed closed = close_case(one, machine, executor);
      one = std::move(closed.request);
      turns.schedules.push_back(std::move(closed.schedule));
      turns.cases.push_back(&one);
    });
  }
  if (turns.cases.empty()) return mix;
  const bool library_on_branch = std::ranges::any_of(turns.schedules, has_library_on_branch);
  Machine of_mix = machine;
  of_mix.condition.library_on_branch = library_on_branch;
  of_mix.condition.memsets = turns.cases.front()->condition.memsets;
  of_mix.condition.late_kernels = are_late(turns, Implementation::weft);
  const double clock_MHz = clock_of_MHz(turns, of_mix, clock_of_mix_MHz);
  for (Case* one : turns.cases) {
    one->condition.fixed_clock_MHz = clock_MHz;
    one->condition.is_of_mix = true;
    one->condition.late_kernels = are_late(turns, one->schedule.implementation);
    one->condition.library_on_branch = library_on_branch;
  }
  return mix;
}

std::vector<Case> in_turn(std::vector<Case> cases, const Mixes& mixes, const Machine& machine, Executor& executor,
                          const ClockOfEachMix& clock_of, const Progress& progress) {
  ProgressCounter done(progress, mixes.size());
  for_each_index(mixes.size(), [&](std::size_t index) {
    std::vector<Case> mix;
    for (const std::size_t place : mixes[index]) mix.push_back(cases[place]);
    mix = in_turn(std::move(mix), machine, executor, clock_of(index));
    for (std::size_t i = 0; i < mix.size(); ++i) cases[mixes[index][i]] = std::move(mix[i]);
    done.add();
  });
  return cases;
}

Mixes mixes_of(const std::vector<Case>& cases) {
  Mixes mixes;
  std::map<std::tuple<int, int, std::string>, std::size_t> position;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Case& one = cases[i];
    const auto [known, is_new] =
        position.try_emplace({one.gpus, one.schedule.max_connections, to_json(one.workload).dump()}, mixes.size());
    if (is_new) mixes.emplace_back();
    mixes[known->second].push_back(i);
  }
  return mixes;
}

std::vector<std::string> lines_in_turn(std::vector<std::string> lines, const Machine& machine, Executor& executor,
                                       const MixClock& clock_of_mix_MHz) {
  std::vector<Case> cases;
  std::vector<LineOfCase> of_case;
  for (std::size_t line = 0; line < lines.size(); ++line) {
    try {
      nlohmann::json json = parse_json(lines[line]);
      Case one = case_from_json(json);
      if (one.condition != RunCondition{}) continue;
      cases.push_back(std::move(one));
      of_case.push_back({line, std::move(json)});
    } catch (const InputError&) {  // which predict_lines() says
    }
  }
  const Mixes mixes = mixes_of(cases);
  cases = in_turn(std::move(cases), mixes, machine, executor, [&](std::size_t) { return clock_of_mix_MHz; });
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (cases[i].condition.fixed_clock_MHz == 0) continue;
    auto& [line, json] = of_case[i];
    json["condition"] = scenarios::to_json(cases[i].condition);
    lines[line] = json.dump();
  }
  return lines;
}

}  // namespace weft::scenarios::study
