// Cases that take turns under one load, as `weft measure --in-turn` and `weft run --best` run them: all at one clock,
// so that their ratios are the speedups of the schedules themselves.
#pragma once

#include <vector>

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

}  // namespace weft::scenarios::study
