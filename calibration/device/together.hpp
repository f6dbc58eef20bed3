// What every rank does, and either all or none succeed at.
#pragma once

#include <string>

#include "calibration/device/schedule_error.hpp"
#include "calibration/shared_state.hpp"
#include "models/execution/execution_error.hpp"

namespace weft::calibration::device {

/// All ranks do `work`; where it fails on one, all throw ScheduleError.
template <class Work>
void together(RankView& ranks, const Work& work) {
  std::string problem;
  try {
    work();
  } catch (const ExecutionError& error) {
    problem = error.what();
  }
  problem = ranks.first_problem(problem);
  if (!problem.empty()) throw ScheduleError(problem);
}

}  // namespace weft::calibration::device
