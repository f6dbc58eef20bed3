// weft measure: the cases that `weft predict` answers, on real GPUs.
#include <spdlog/spdlog.h>

#include "calibration/evidence/measuring.hpp"
#include "models/base/input_error.hpp"
#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "sim/simulated_executor.hpp"
#include "tools/commands/command.hpp"
#include "tools/commands/numbers.hpp"

namespace weft::tools::commands {
namespace {

struct MeasureOptions {
  std::string cases, machine, out, condition{name_of(Condition::sustained)};
  bool in_turn = false;
  calibration::RunOptions run;
};

void run_measure(MeasureOptions options) {
  options.run.condition = from_name<Condition>(options.condition, "--condition");
  if (options.in_turn && (options.run.condition != Condition::sustained || options.run.spans))
    throw InputError("--in-turn", "expected neither --condition short nor --kernels beside it");
  if (options.run.guests.are_there() && !options.in_turn) throw InputError("--guests", "expected --in-turn beside it");
  const Machine machine = read_machine(machine_path(options.machine));
  const std::vector<scenarios::Case> cases = evidence::read_cases(options.cases);
  calibration::require_device_part();
  evidence::MeasurementFileWriter file(options.out, options.run.spans);
  file.require_measured_so(options.run.condition, options.in_turn);
  sim::SimulatedExecutor simulator(sim::times_only);
  evidence::Measuring measuring(cases, machine, {options.run, options.in_turn}, file, simulator);
  spdlog::info("{} cases to measure, {} measured before", measuring.to_measure(), measuring.measured_before());
  measuring.run(show_progress("runs"));
}

}  // namespace

void add_measure_command(CLI::App& app) {
  auto [command, options] =
      add_command(app, "measure", "Measure cases on the GPUs of this machine (JSON lines)", run_measure);
  reads(command.add_option("CASES", options.cases, "File of cases, as weft predict reads them"))->required();
  reads_machine(command.add_option("--machine", options.machine, "Profile of this machine"))->required();
  writes(
      command.add_option("--out", options.out, "File to append measurements to; what it holds is not measured again"))
      ->required();
  command
      .add_option("--condition", options.condition,
                  "sustained: under load without a pause until times agree; short: runs of --target-ms after a pause")
      ->capture_default_str();
  command.add_option("--windows", options.run.windows, "Windows of 50 ms of load at least, the last six count")
      ->check(numbers(fewest_windows, most_windows))
      ->capture_default_str();
  command.add_flag("--in-turn", options.in_turn,
                   "Let the cases of one workload take turns every few milliseconds: their ratios are of one clock");
  command
      .add_option("--guests", options.run.guests.folder,
                  "With --in-turn: folder of the sockets rank-0, rank-1, ... of programs that take turns too")
      ->type_name("FOLDER");
  command
      .add_option("--repeats", options.run.repeats, "Timed runs of each case with --condition short; the median counts")
      ->check(numbers(1, 100));
  command.add_option("--target-ms", options.run.target_ms, "Load of one timed run with --condition short")
      ->check(numbers(1.0, 10000.0));
  command.add_option("--time-limit", options.run.time_limit_s, "Seconds for each case")->check(time_limits());
  command.add_flag("!--no-check", options.run.check, "Do not compare results with a reference");
  command.add_flag(
      "--kernels", options.run.spans,
      "Record the kernels of each case in a second, profiled run, into a file beside it that ends in .kernels");
}

}  // namespace weft::tools::commands
