// The choice by running: of each pair the schedules that are predicted fastest run in turns with serial, under one
// clock, and the fastest of them is taken.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "calibration/hardware.hpp"
#include "models/base/progress.hpp"
#include "models/execution/executor.hpp"
#include "models/machine/machine.hpp"
#include "scenarios/study/clock.hpp"
#include "scenarios/study/exploration.hpp"

namespace weft::calibration::evidence {

struct TriedSchedule {
  scenarios::Case request;  ///< searched values filled in
  Schedule schedule = {};
  double predicted_us = 0;
  double measured_us = 0;     ///< 0 where it failed
  double noise = 0;           ///< spread of the windows over their mean
  bool checked = false;       ///< the result was compared with a reference, and right
  std::string error = {};     ///< why it failed; empty: it did not
  bool is_reference = false;  ///< the serial schedule that speedups are over
};

/// One pair at one size.
struct TriedPair {
  std::string pair;
  std::int64_t size = 0;
  std::vector<TriedSchedule> fastest_first = {};  ///< as measured; those that failed come last
  double serial_us = 0;                           ///< measured; 0 where it failed

  const TriedSchedule& choice() const { return fastest_first.front(); }
  double speedup() const { return serial_us / choice().measured_us; }
};

/// Of each answer the first `best` schedules that run, at most two of a kind, and the reference, which is serial, built
/// for this machine and not yet measured.
std::vector<TriedPair> worth_trying(const scenarios::study::Exploration& exploration, int best, const Machine& machine);

/// Predicts each at the clock that it finds in turn with the others of its pair, as run_all() measures it.
void predict_in_turn(std::vector<TriedPair>& pairs, const Machine& machine, Executor& executor,
                     const scenarios::study::MixClock& clock_of_mix_MHz);

/// Measures all of them, on GPUs like `machine`'s, those of a pair in turns; `progress` counts schedules. A schedule
/// that fails or computes wrong results keeps its error. Throws as measure_in_turn() does, and ExecutionError where all
/// schedules of a pair failed.
Conditions run_all(std::vector<TriedPair>& pairs, const Machine& machine, RunOptions options, const Progress& progress);

nlohmann::ordered_json to_json(const std::vector<TriedPair>& pairs);

}  // namespace weft::calibration::evidence
