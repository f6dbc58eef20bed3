// What tells accounts of losses how long a schedule takes, with parts of the machine switched off or times given.
// Whoever asks for an account hands it in (sim::simulate), so that a study knows no simulator.
#pragma once

#include <functional>
#include <vector>

#include "models/execution/trace.hpp"
#include "models/machine/machine.hpp"
#include "models/schedule/schedule.hpp"
#include "sim/simulation_options.hpp"

namespace weft::scenarios::study {

/// Called by several threads at once. Throws as Executor::run() does.
using Clock = std::function<Trace(const Schedule&, const Machine&, const sim::SimulationOptions&)>;

/// The SM clock, in MHz, that schedules find which take turns under one load. Called by several threads at once.
using MixClock = std::function<double(const std::vector<Schedule>&, const Machine&)>;

}  // namespace weft::scenarios::study
