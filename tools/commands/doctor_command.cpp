// weft doctor: what this machine can run, found by running it: every kind of schedule once, small, with its result
// checked.
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "calibration/hardware.hpp"
#include "calibration/measurement_json.hpp"
#include "calibration/selftest_schedules.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/output.hpp"
#include "tools/commands/terminal.hpp"

namespace weft::tools::commands {
namespace {

struct Options {
  Output output;
  double time_limit_s = 20;
};

struct Tried {
  std::string schedule, error;  ///< empty: it ran
  int gpus = 0;
  double time_us = 0;
  bool checked = false;
};

struct Findings {
  std::vector<std::string> notes;
  std::vector<Tried> tried;
  calibration::Conditions conditions;
};

std::string result_of(const Tried& tried) {
  if (!tried.error.empty()) return tried.error;
  return tried.checked ? "right" : "runs";
}

/// A schedule that hangs ends the run with its ranks: those behind it are not tried.
void try_all(int gpus, const Options& options, Findings& findings) {
  const std::vector<Schedule> schedules = calibration::all_schedules(gpus);
  std::vector<Tried> tried(schedules.size());
  for (std::size_t i = 0; i < schedules.size(); ++i)
    tried[i] = {.schedule = schedules[i].name, .error = "not tried", .gpus = gpus};
  calibration::RunOptions run;
  run.condition = Condition::after_pause;
  run.repeats = 1, run.target_ms = 2, run.time_limit_s = options.time_limit_s;
  try {
    measure(schedules, run,
            {.on_conditions = [&](const calibration::Conditions& found) { findings.conditions = found; },
             .on_result =
                 [&](std::size_t i, const calibration::Measurement& measurement) {
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

Findings examine(const Options& options) {
  Findings findings;
  if (!calibration::has_device_part()) {
    findings.notes.push_back(
        "Nothing runs on GPUs: this weft was built without a CUDA toolkit. It predicts, explores and simulates.");
    return findings;
  }
  const int gpus = calibration::visible_gpus();
  findings.notes.push_back(std::to_string(gpus) + " GPUs are visible.");
  for (const int count : std::set<int>{std::min(gpus, 1), std::min(gpus, 2), gpus})
    if (count > 0) try_all(count, options, findings);
  return findings;
}

report::Report report_of(const Findings& findings) {
  report::Report report;
  report.notes = findings.notes;
  nlohmann::ordered_json json{{"notes", findings.notes}, {"schedules", nlohmann::ordered_json::array()}};
  report::Table table{.columns = {"GPUs", "schedule", "time", "result"}, .rows = {}};
  for (const Tried& one : findings.tried) {
    const bool ran = one.error.empty();
    table.rows.push_back({report::count(one.gpus), one.schedule,
                          ran ? report::Cell(report::Number{one.time_us, 1, " us"}) : report::Cell("-"),
                          result_of(one)});
    json["schedules"].push_back({{"gpus", one.gpus}, {"schedule", one.schedule}, {"runs", ran}});
    json["schedules"].back().update(ran ? nlohmann::ordered_json{{"time_us", one.time_us}, {"checked", one.checked}}
                                        : nlohmann::ordered_json{{"error", one.error}});
  }
  if (!findings.tried.empty()) {
    const calibration::Conditions& c = findings.conditions;
    report.sections.push_back(
        {c.gpu + ", driver " + c.driver + ", CUDA " + c.cuda + ", NCCL " + c.nccl + ", cuBLASLt " + c.cublaslt,
         table,
         {}});
    json["conditions"] = calibration::to_json(c);
  }
  report.document = json;
  return report;
}

}  // namespace

void add_doctor_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("doctor", "Which schedules this machine can run, and why not the others");
  auto options = std::make_shared<Options>();
  options->output.add_to(*command, "Write what was found");
  command->add_option("--time-limit", options->time_limit_s, "Seconds for each schedule")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->callback([options] {
    options->output.require_writable();
    options->output.write(report_of(examine(*options)));
  });
}

}  // namespace weft::tools::commands
