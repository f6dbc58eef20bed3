// An answer with all that its reader asks next: how the gain goes with size and width, and what runs when under the
// fastest schedule and under serial. What weft explore --html draws.
#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "models/execution/executor.hpp"
#include "models/execution/timeline.hpp"
#include "models/machine/machine.hpp"
#include "scenarios/scenario.hpp"
#include "scenarios/study/crossovers.hpp"
#include "scenarios/study/exploration.hpp"
#include "scenarios/study/grade.hpp"

namespace weft::scenarios::study {

/// One schedule of the leading answer, run once. `timeline.trace.source` says whether on paper.
struct DrawnRun {
  std::string schedule;  ///< in words
  Schedule operations;
  Timeline timeline;
};

struct AnswerReport {
  Exploration exploration;
  Scenario scenario;
  Widths widths;
  std::optional<Evidence> evidence;
  std::size_t leading = 0;     ///< of the exploration's answers
  std::vector<DrawnRun> runs;  ///< of that answer; measured ones follow those that they belong to
};

/// One simulated run with its tracks and edges, as sim::SimulatedExecutor::observe() gives it.
using Observe = std::function<Timeline(const Schedule& schedule, const Machine& machine)>;

/// The fastest overlapped schedule of the answer, where it has one, and serial.
std::vector<DrawnRun> drawn_runs(const Answer& answer, const Machine& machine, Executor& executor,
                                 const Observe& observe);

/// Puts a measured trace behind the run whose operations it has. Throws InputError, field "operation", where no run has
/// all of them.
void add_measured(std::vector<DrawnRun>& runs, Trace measured);

/// {"format": "weft.report/1", "size_word", "leading", "exploration": as weft explore --json has it, but of each answer
/// the fastest schedules, serial and what is advised only, "gains": [{"pattern", "gpus", "size", "schedule", "time_us",
/// "serial_us", "odds", "best_of_20_gain", "is_advised"}], "runs": [{"schedule", "source", "time_us", "clock_MHz",
/// "power_W", "iteration_parts", "streams", "spans": [[stream, operation, kind, start_us, end_us, detail, limit]],
/// "tracks": [{"name", "unit", "capacity", "at_us", "values"}], "edges": [[from, to, from_us, to_us, what]]}]}. Runs
/// are those of GPU 0; streams and spans are named by their positions.
nlohmann::ordered_json to_json(const AnswerReport& report, const Machine& machine);

}  // namespace weft::scenarios::study
