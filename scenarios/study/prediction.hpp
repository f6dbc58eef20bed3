// What `weft predict` and `weft explore` say of one case.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/execution/trace.hpp"
#include "models/machine/machine.hpp"
#include "models/schedule/schedule.hpp"
#include "scenarios/workload.hpp"
#include "sim/simulated_executor.hpp"

namespace weft::scenarios::study {

struct Prediction {
  double time_us = 0, serial_us = 0, bound_us = 0;
  double low_us = 0, high_us = 0;  ///< where 90 % of measurements on other servers of the type are expected
  Limit limited_by = Limit::latency;
  std::vector<std::string> outside_calibration;
  bool runnable = false;             ///< by the hardware executor, today
  scenarios::ScheduleChoice choice;  ///< as run
  Schedule schedule;
  Trace trace;  ///< spans only where they were asked for
};

struct PredictionOptions {
  bool spans = false;
  bool serial = true;  ///< also simulate the serial schedule, for serial_us
  sim::Mechanisms mechanisms = {};
};

/// Throws InputError, field "gpus", where more GPUs are asked for than the machine has.
void require_gpus(int gpus, const Machine& machine);

/// Throws InputError for a case that cannot be done. Family `best` is answered with the fastest of the families that
/// the op has; searched values are filled in.
Prediction predict(const scenarios::Case& asked, const Machine& machine, const PredictionOptions& options = {});

/// What the profile's error bands tell apart: pairs by family, all else by op.
std::string stratum_of(const scenarios::Case& request);
/// How far below its prediction a speedup over serial may be measured, where the profile says so.
std::optional<double> speedup_low(const Machine& machine);

}  // namespace weft::scenarios::study
