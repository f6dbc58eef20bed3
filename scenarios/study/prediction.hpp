// What `weft predict` and `weft explore` say of one case.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/execution/executor.hpp"
#include "models/machine/machine.hpp"
#include "models/schedule/schedule.hpp"
#include "scenarios/workload.hpp"

namespace weft::scenarios::study {

struct Prediction {
  double time_us = 0, serial_us = 0, bound_us = 0;
  double low_us = 0, high_us = 0;  ///< where 90 % of measurements on other servers of the type are expected
  Limit limited_by = Limit::latency;
  std::vector<std::string> outside_calibration;
  bool runnable = false;             ///< by the hardware executor, today
  std::string not_runnable;          ///< why it is not; else empty
  scenarios::ScheduleChoice choice;  ///< as run
  Schedule schedule;
  Trace trace;  ///< with spans where the executor records them
};

struct PredictionOptions {
  bool serial = true;  ///< also run the serial schedule, for serial_us
};

/// Throws InputError, field "gpus", where more GPUs are asked for than the machine has.
void require_gpus(int gpus, const Machine& machine);
/// As require_gpus(), and InputError, field "machine", where the schedule says that it is for another machine.
void require_machine(const Schedule& schedule, const Machine& machine);

/// By the times of `executor`. What the case leaves open is searched (settle.hpp). Throws InputError for a case that
/// cannot be done.
Prediction predict(const scenarios::Case& asked, const Machine& machine, Executor& executor,
                   const PredictionOptions& options = {});

/// The machine that predict() asks the executor about: in the condition, with the host code and with the given times of
/// the case.
Machine machine_for(const scenarios::Case& asked, const Machine& machine, Executor& executor);

/// Sizes of the schedule's GEMMs and collectives, and its GPUs, that lie outside of what the profile was calibrated
/// with: "m", "n", "k", "bytes", "gpus", or the kind of work that nobody has measured there.
std::vector<std::string> outside_calibration(const Schedule& schedule, const Machine& machine);

/// What the profile's error bands tell apart: pairs by family, of chunks more than four apart, all else by op, and
/// GEMMs by kernels that no table of the library's answers has from others.
std::string stratum_of(const scenarios::Case& request);

}  // namespace weft::scenarios::study
