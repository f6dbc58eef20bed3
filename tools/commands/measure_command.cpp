// weft measure: the cases that `weft predict` answers, on real GPUs.
#include <spdlog/spdlog.h>

#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "calibration/evidence/measurement_file.hpp"
#include "calibration/hardware.hpp"
#include "calibration/measurement_json.hpp"
#include "models/check/hardware_support.hpp"
#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "scenarios/case_json.hpp"
#include "scenarios/families/build.hpp"
#include "tools/commands/commands.hpp"
#include "tools/report/terminal.hpp"
#include "tools/rooms.hpp"

namespace weft::tools::commands {
namespace {

using nlohmann::ordered_json;
using scenarios::Case;

struct Options {
  std::string cases, machine, out;
  calibration::RunOptions run;
};

/// Appends a line at once, so that an interrupted run loses nothing.
class ResultFile {
 public:
  explicit ResultFile(const std::string& path) : path_(path), file_(path, std::ios::app) {
    if (!file_) throw InputError(path, "expected a file that can be written");
  }
  void add(const ordered_json& line) {
    file_ << line.dump() << '\n' << std::flush;
    if (!file_) throw ExecutionError(path_ + " could not be written");
  }

 private:
  std::string path_;
  std::ofstream file_;
};

/// Cases that the file holds already are not measured again.
std::set<std::string> measured_before(const std::string& path) {
  std::set<std::string> texts;
  if (!std::ifstream(path)) return texts;
  for (const evidence::MeasuredCase& one : evidence::read_measurements(path))
    texts.insert(scenarios::to_json(one.request).dump());
  return texts;
}

void run(const Options& options) {
  const Machine machine = read_machine(machine_path(options.machine));
  const std::set<std::string> before = measured_before(options.out);
  const std::vector<Case> requests = evidence::read_cases(options.cases);
  calibration::require_device_part();
  std::vector<Case> cases;
  std::vector<Schedule> schedules;
  ResultFile file(options.out);
  for (const Case& one : requests) {
    if (before.count(scenarios::to_json(one).dump()) > 0) continue;
    try {
      Schedule schedule = scenarios::families::build(one, machine);
      require_runnable(schedule);
      schedules.push_back(std::move(schedule));
      cases.push_back(one);
    } catch (const InputError& error) {
      file.add({{"case", scenarios::to_json(one)}, {"error", error.what()}});
    }
  }
  spdlog::info("{} cases to measure, {} measured before", cases.size(), before.size());
  if (cases.empty()) return;

  const std::size_t runs = cases.size() * (options.run.spans ? 2 : 1);  // with kernels every case runs twice
  ProgressCounter progress(report::show_progress("runs"), runs);
  std::size_t failed = 0;
  calibration::measure(schedules, options.run,
                       {.on_conditions =
                            [&](const calibration::Conditions& conditions) {
                              file.add({{"conditions", ordered_json(calibration::to_json(conditions))}});
                            },
                        .on_result =
                            [&](std::size_t index, const calibration::Measurement& measurement) {
                              ordered_json line{{"case", scenarios::to_json(cases[index])}};
                              line.update(ordered_json(calibration::to_json(measurement)));
                              file.add(line);
                              progress.add();
                            },
                        .on_error =
                            [&](std::size_t index, const std::string& message) {
                              file.add({{"case", scenarios::to_json(cases[index])}, {"error", message}});
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
  command->add_flag("--kernels", options->run.spans, "Record the kernels of each case in a second, profiled run");
  command->callback([options] { run(*options); });
}

}  // namespace weft::tools::commands
