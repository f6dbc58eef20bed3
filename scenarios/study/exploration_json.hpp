// What an exploration found, for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "models/machine/machine.hpp"
#include "scenarios/study/crossovers.hpp"
#include "scenarios/study/exploration.hpp"
#include "scenarios/study/grade.hpp"

namespace weft::scenarios::study {

/// What the ranking says of overlap, in one sentence.
std::string verdict(const Answer& answer);

/// {"scenario", "machine", "gpus", "ignored", "verdict", "grade", "outside_calibration", "crossovers",
/// "schedules_simulated", "answers": [{"pair", "form", "workload", "size", "verdict", "advice", "deadlocks",
/// "schedules": [{"schedule", "time_us", "interval_us", "speedup", "bound_us", "limited_by", "grade", "runnable", …}],
/// "fastest_runnable"}], "layers": [{"tokens", "form", "serial_us", "saved_us", "saved_by_pairs_us"}]}. Schedules that
/// were explained also have "losses" (exact: the parts add up to time_ps - perfect_overlap_ps) and "inefficiency";
/// signaling has "next_kernel", and a pair with FiCCO's schedules has "ficco", where the time of the rule's choice is
/// null if it is no candidate. The verdict and the crossovers are those of verdict_json.hpp; "ignored" is what of a
/// model is not counted.
nlohmann::ordered_json to_json(const Exploration& exploration, const Scenario& scenario, const Machine& machine,
                               const std::vector<Crossover>& crossovers = {},
                               const std::optional<Evidence>& evidence = {});

}  // namespace weft::scenarios::study
