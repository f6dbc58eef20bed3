#include "tools/commands/run_best.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "calibration/evidence/choice_by_running.hpp"
#include "calibration/measurement_json.hpp"
#include "models/base/input_error.hpp"
#include "models/base/text_file.hpp"
#include "models/check/schedule_file.hpp"
#include "scenarios/study/exploration.hpp"
#include "sim/simulated_executor.hpp"
#include "tools/commands/files.hpp"
#include "tools/commands/terminal.hpp"
#include "tools/rooms.hpp"

namespace weft::tools::commands {
namespace {

using calibration::evidence::TriedPair;
using calibration::evidence::TriedSchedule;

std::vector<report::Cell> row_of(const TriedPair& pair, const TriedSchedule& tried) {
  const bool failed = !tried.error.empty();
  const auto measured = [&](report::Number number) { return failed ? report::Cell("-") : report::Cell(number); };
  return {pair.pair,
          report::count(pair.size),
          tried.request.id,
          report::Number{tried.predicted_us, 1, " us"},
          measured({tried.measured_us, 1, " us"}),
          measured(report::error(tried.predicted_us / tried.measured_us - 1)),
          measured(report::ratio(pair.serial_us / tried.measured_us)),
          failed          ? tried.error
          : tried.checked ? "right"
                          : "not checked"};
}

report::Report report_of(const std::vector<TriedPair>& pairs, const calibration::Conditions& conditions) {
  report::Report report;
  report::Table table{.columns = {"pair", "size", "schedule", "predicted", "measured", report::droppable("error", 3),
                                  "over serial", report::droppable("result", 2)},
                      .rows = {}};
  for (const TriedPair& pair : pairs)
    for (const TriedSchedule& tried : pair.fastest_first) table.rows.push_back(row_of(pair, tried));
  report.sections.push_back(
      {"Measured in turns on " + std::to_string(conditions.gpus) + " x " + conditions.gpu, table, {}});
  report.document = nlohmann::ordered_json{{"pairs", to_json(pairs)}, {"conditions", calibration::to_json(conditions)}};
  return report;
}

}  // namespace

void run_best(const RunBest& best, const calibration::RunOptions& options, const Output& output) {
  calibration::require_device_part();
  output.require_writable();
  require_writable(best.schedule);
  const auto [scenario, machine] = read_question(best.question);
  sim::SimulatedExecutor simulator({.spans = false, .mechanisms = {}, .given_us = {}});
  const study::Exploration exploration =
      study::explore(scenario, machine, simulator,
                     {.least_schedules = study::usual_schedules, .progress = show_progress("schedules")});
  std::vector<TriedPair> pairs = calibration::evidence::worth_trying(exploration, best.count, machine);
  if (pairs.empty()) throw InputError("--best", "expected a question with a schedule that runs on " + machine.name);
  calibration::evidence::predict_in_turn(pairs, machine, simulator, simulator.mix_clock());
  const calibration::Conditions conditions = calibration::evidence::run_all(pairs, options, show_progress("runs"));
  if (!best.schedule.empty())
    write_checked(best.schedule, std::ranges::max_element(pairs, {}, &TriedPair::speedup)->choice().schedule);
  output.write(report_of(pairs, conditions));
}

}  // namespace weft::tools::commands
