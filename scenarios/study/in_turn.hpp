// Cases that take turns under one load, as `weft measure --in-turn` and `weft run --best` run them: all at one clock,
// so that their ratios are the speedups of the schedules themselves.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "models/base/progress.hpp"
#include "models/execution/executor.hpp"
#include "models/machine/machine.hpp"
#include "scenarios/study/clock.hpp"
#include "scenarios/workload.hpp"

namespace weft::scenarios::study {

/// The cases at the clock of their mix (`condition.fixed_clock_MHz`): what predict() says of them then is what they
/// take in turn. What they leave open is settled before, each case by itself, by the times of `executor`. A case that
/// cannot be done counts for nothing and is given back as it came.
std::vector<Case> in_turn(std::vector<Case> mix, const Machine& machine, Executor& executor,
                          const MixClock& clock_of_mix_MHz);

/// The places of the cases of each mix.
using Mixes = std::vector<std::vector<std::size_t>>;

/// What finds the clock of the mix at that place.
using ClockOfEachMix = std::function<MixClock(std::size_t mix)>;

/// The same of several mixes on all cores; cases of none stay as they are. `progress` counts mixes.
std::vector<Case> in_turn(std::vector<Case> cases, const Mixes& mixes, const Machine& machine, Executor& executor,
                          const ClockOfEachMix& clock_of, const Progress& progress = {});

/// Of the cases of one workload on as many GPUs with as many connections, which are those of one process, in the order
/// of their first.
Mixes mixes_of(const std::vector<Case>& cases);

/// Lines of cases, as weft predict reads them, each at the clock of its mix. Lines that are no such case, and those of
/// another condition than sustained load, stay as they are.
std::vector<std::string> lines_in_turn(std::vector<std::string> lines, const Machine& machine, Executor& executor,
                                       const MixClock& clock_of_mix_MHz);

}  // namespace weft::scenarios::study
