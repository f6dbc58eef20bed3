// weft run --best: the schedules of a scenario that are predicted fastest, measured in turns.
#pragma once

#include <string>

#include "calibration/hardware.hpp"
#include "scenarios/library/question.hpp"
#include "tools/commands/output.hpp"

namespace weft::tools::commands {

struct RunBest {
  int count = 0;  ///< of schedules besides serial; 0: --best was not given
  scenarios::library::AskedQuestion question;
  std::string schedule;
};

/// Writes the table, the JSON and the fastest schedule of the pair that gained most.
void run_best(const RunBest& best, const calibration::RunOptions& options, const Output& output);

}  // namespace weft::tools::commands
