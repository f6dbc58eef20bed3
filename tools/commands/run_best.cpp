#include "tools/commands/run_best.hpp"

#include <algorithm>

#include "calibration/evidence/choice_by_running.hpp"
#include "calibration/report/measurement_report.hpp"
#include "models/base/input_error.hpp"
#include "models/base/text_file.hpp"
#include "models/check/schedule_file.hpp"
#include "scenarios/study/exploration.hpp"
#include "sim/simulated_executor.hpp"
#include "tools/commands/files.hpp"
#include "tools/commands/terminal.hpp"
#include "tools/rooms.hpp"

namespace weft::tools::commands {
void run_best(const RunBest& best, const calibration::RunOptions& options, const Output& output) {
  calibration::require_device_part();
  output.require_writable();
  require_writable(best.schedule);
  const auto [scenario, profile] = scenarios::library::read_question(best.question);
  const Machine& machine = profile->machine;
  sim::SimulatedExecutor simulator({.spans = false, .mechanisms = {}, .given_us = {}});
  const study::Exploration exploration =
      study::explore(scenario, machine, simulator,
                     {.least_schedules = study::usual_schedules, .progress = show_progress("schedules")});
  std::vector<evidence::TriedPair> pairs = evidence::worth_trying(exploration, best.count, machine);
  if (pairs.empty()) throw InputError("--best", "expected a question with a schedule that runs on " + machine.name);
  evidence::predict_in_turn(pairs, machine, simulator, simulator.mix_clock());
  const calibration::Conditions conditions = evidence::run_all(pairs, options, show_progress("runs"));
  if (!best.schedule.empty())
    write_checked(best.schedule, std::ranges::max_element(pairs, {}, &evidence::TriedPair::speedup)->choice().schedule);
  output.write(calibration::report::tried_report(pairs, conditions));
}

}  // namespace weft::tools::commands
