#include "calibration/doctor.hpp"

#include <algorithm>
#include <set>

#include "calibration/selftest_schedules.hpp"

namespace weft::calibration {
namespace {

/// Three schedules in a row that hang end the run: those behind them are not tried.
void try_all(int gpus, double time_limit_s, Findings& findings) {
  const std::vector<Schedule> schedules = all_schedules(gpus);
  std::vector<Tried> tried(schedules.size());
  for (std::size_t i = 0; i < schedules.size(); ++i)
    tried[i] = {.schedule = schedules[i].name, .error = "not tried", .gpus = gpus};
  RunOptions run;
  run.condition = Condition::after_pause;
  run.repeats = 1, run.target_ms = 2, run.time_limit_s = time_limit_s;
  try {
    measure(schedules, run,
            {.on_conditions = [&](const Conditions& found) { findings.conditions = found; },
             .on_result =
                 [&](std::size_t i, const Measurement& measurement) {
                   tried[i].error.clear();
                   tried[i].time_us = measurement.time_us;
                   tried[i].checked = measurement.checked;
                 },
             .on_error = [&](std::size_t i, const std::string& message) { tried[i].error = message; }});
  } catch (const ExecutionError& error) {
    findings.notes.push_back("On " + std::to_string(gpus) + " GPUs: " + error.what());
  }
  findings.tried.insert(findings.tried.end(), tried.begin(), tried.end());
}

}  // namespace

Findings examine(double time_limit_s) {
  Findings findings;
  if (!has_device_part()) {
    findings.notes.emplace_back(
        "Nothing runs on GPUs: this weft was built without a CUDA toolkit. It predicts, explores and simulates.");
    return findings;
  }
  const int gpus = visible_gpus();
  findings.notes.push_back(std::to_string(gpus) + " GPUs are visible.");
  if (gpus > max_ranks) findings.notes.push_back("At most " + std::to_string(max_ranks) + " of them are used at once.");
  for (const int count : std::set<int>{std::min(gpus, 1), std::min(gpus, 2), std::min(gpus, max_ranks)})
    if (count > 0) try_all(count, time_limit_s, findings);
  return findings;
}

}  // namespace weft::calibration
