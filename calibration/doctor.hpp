// What this machine can run, found by running it: every kind of schedule once, small, with its result checked.
#pragma once

#include <string>
#include <vector>

#include "calibration/hardware.hpp"

namespace weft::calibration {

struct Tried {
  std::string schedule, error;  ///< error: empty where it ran
  int gpus = 0;
  double time_us = 0;
  bool checked = false;  ///< the result was compared with a reference, and right
};

struct Findings {
  std::vector<std::string> notes;  ///< sentences
  std::vector<Tried> tried;        ///< on 1 GPU, on 2 and on all that are visible; none without GPUs
  Conditions conditions;           ///< of the last that ran
};

/// `time_limit_s`: for each schedule.
Findings examine(double time_limit_s);

}  // namespace weft::calibration
