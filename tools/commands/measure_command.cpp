// weft measure: the cases that `weft predict` answers, on real GPUs.
#include <spdlog/spdlog.h>

#include <memory>

#include "calibration/evidence/measurement_file.hpp"
#include "calibration/hardware.hpp"
#include "models/check/hardware_support.hpp"
#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "scenarios/families/build.hpp"
#include "tools/commands/commands.hpp"
#include "tools/report/terminal.hpp"
#include "tools/rooms.hpp"

namespace weft::tools::commands {
namespace {

using scenarios::Case;

struct Options {
  std::string cases, machine, out;
  calibration::RunOptions run;
};

void run(const Options& options) {
  const Machine machine = read_machine(machine_path(options.machine));
  const std::vector<Case> requests = evidence::read_cases(options.cases);
  calibration::require_device_part();
  std::vector<Case> cases;
  std::vector<Schedule> schedules;
  evidence::MeasurementFileWriter file(options.out, options.run.spans);
  std::size_t before = 0;
  for (const Case& one : requests) {
    if (file.holds(one)) {
      ++before;
      continue;
    }
    try {
      Schedule schedule = scenarios::families::build(one, machine);
      require_runnable(schedule);
      schedules.push_back(std::move(schedule));
      cases.push_back(one);
    } catch (const InputError& error) {
      file.add_error(one, error.what());
    }
  }
  spdlog::info("{} cases to measure, {} measured before", cases.size(), before);
  if (cases.empty()) return;

  const std::size_t runs = cases.size() * (options.run.spans ? 2 : 1);  // with kernels every case runs twice
  ProgressCounter progress(report::show_progress("runs"), runs);
  std::size_t failed = 0;
  calibration::measure(schedules, options.run,
                       {.on_conditions = [&](const calibration::Conditions& conditions) { file.add(conditions); },
                        .on_result =
                            [&](std::size_t index, const calibration::Measurement& measurement) {
                              if (measurement.kernels.empty())
                                file.add(cases[index], measurement);
                              else
                                file.add_kernels(cases[index], measurement.kernels);
                              progress.add();
                            },
                        .on_error =
                            [&](std::size_t index, const std::string& message) {
                              file.add_error(cases[index], message);
                              progress.add();
                              ++failed;
                            }});
  if (failed > 0) throw ExecutionError(std::to_string(failed) + " cases failed: their lines carry \"error\"");
}

}  // namespace

void add_measure_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("measure", "Measure cases on the GPUs of this machine (JSON lines)");
  auto options = std::make_shared<Options>();
  command->add_option("CASES", options->cases, "File of cases, as weft predict reads them")->required();
  command->add_option("--machine", options->machine, "Profile of this machine")->required();
  command->add_option("--out", options->out, "File to append measurements to; what it holds is not measured again")
      ->required();
  command->add_option("--repeats", options->run.repeats, "Timed runs of each case; the median counts")
      ->check(CLI::Range(1, 100));
  command->add_option("--target-ms", options->run.target_ms, "Load of one timed run")->check(CLI::Range(1.0, 10000.0));
  command->add_option("--time-limit", options->run.time_limit_s, "Seconds for each case")
      ->check(CLI::Range(1.0, 3600.0));
  command->add_flag("!--no-check", options->run.check, "Do not compare results with a reference");
  command->add_flag(
      "--kernels", options->run.spans,
      "Record the kernels of each case in a second, profiled run, into a file beside it that ends in .kernels");
  command->callback([options] { run(*options); });
}

}  // namespace weft::tools::commands
