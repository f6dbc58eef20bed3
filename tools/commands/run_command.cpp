// weft run: one schedule file on the GPUs of this machine.
#include <algorithm>

#include "calibration/evidence/choice_by_running.hpp"
#include "calibration/report/measurement_report.hpp"
#include "models/base/input_error.hpp"
#include "models/base/text_file.hpp"
#include "models/check/hardware_support.hpp"
#include "models/check/schedule_file.hpp"
#include "models/execution/perfetto.hpp"
#include "models/execution/trace_json.hpp"
#include "models/schedule/schedule_json.hpp"
#include "scenarios/library/question.hpp"
#include "scenarios/study/exploration.hpp"
#include "sim/simulated_executor.hpp"
#include "tools/commands/command.hpp"
#include "tools/commands/numbers.hpp"

namespace weft::tools::commands {
namespace {

/// What --best asks.
struct Best {
  int count = 0;  ///< of schedules besides serial; 0: --best was not given
  scenarios::library::AskedQuestion question;
  std::string schedule;
};

struct RunCommandOptions {
  std::string schedule, trace, spans, condition{name_of(Condition::sustained)};
  Output output;
  calibration::RunOptions run;
  bool no_check = false, share_gpus = false;
  Best best;
};

void write_traces(const RunCommandOptions& options, const Schedule& schedule, const Trace& trace) {
  if (!options.spans.empty()) write_trace(options.spans, trace);
  if (!options.trace.empty()) write_perfetto(options.trace, {{.trace = trace, .edges = edges_of(schedule, trace)}});
}

/// The schedules that are predicted fastest, measured in turns with serial. Writes the fastest of the pair that gained
/// most, and the table.
void run_best(const Best& best, const calibration::RunOptions& options, const Output& output) {
  calibration::require_device_part();
  output.require_writable();
  require_writable(best.schedule);
  const auto [scenario, profile] = scenarios::library::read_question(best.question);
  const Machine& machine = profile->machine;
  sim::SimulatedExecutor simulator(sim::times_only);
  const study::Exploration exploration =
      study::explore(scenario, machine, simulator,
                     {.least_schedules = study::usual_schedules, .progress = show_progress("schedules")});
  std::vector<evidence::TriedPair> pairs = evidence::worth_trying(exploration, best.count, machine);
  if (pairs.empty()) throw InputError("--best", "expected a question with a schedule that runs on " + machine.name);
  evidence::predict_in_turn(pairs, machine, simulator, simulator.mix_clock());
  const calibration::Conditions conditions = evidence::run_all(pairs, machine, options, show_progress("runs"));
  if (!best.schedule.empty())
    write_checked(best.schedule, std::ranges::max_element(pairs, {}, &evidence::TriedPair::speedup)->choice().schedule);
  output.write(calibration::report::tried_report(pairs, conditions));
}

void run_schedule(RunCommandOptions options) {
  options.run.check = !options.no_check;
  options.run.condition = from_name<Condition>(options.condition, "--condition");
  if (options.best.count > 0) {
    options.best.question.what = options.schedule;
    return run_best(options.best, options.run, options.output);
  }
  options.run.spans = !options.share_gpus;
  if (options.share_gpus) {
    options.run.may_share_gpus = true;
    options.run.condition = Condition::after_pause;
    options.run.repeats = 1;
  }
  const Schedule schedule = read_schedule(options.schedule);
  try {
    require_runnable(schedule);
  } catch (const InputError& error) {
    throw error.in_file(options.schedule);
  }
  for (const std::string& path : {options.trace, options.spans}) require_writable(path);
  options.output.require_writable();
  calibration::LoneMeasurement result = measure_alone(schedule, options.run);
  const bool needs_spans = !options.trace.empty() || !options.spans.empty();
  if (needs_spans && !result.not_recorded.empty()) throw ExecutionError(result.not_recorded);
  result.measurement.trace.machine = schedule.machine;
  if (options.share_gpus) return options.output.write(calibration::report::shared_report(schedule, result));
  write_traces(options, schedule, result.measurement.trace);
  options.output.write(calibration::report::measured_report(schedule.name, result));
}

}  // namespace

void add_run_command(CLI::App& app) {
  auto [command, options] = add_command(
      app, "run", "Run one schedule file on the GPUs of this machine, or the best ones of a question", run_schedule);
  reads(command.add_option("SCHEDULE", options.schedule,
                           "Schedule file (weft.schedule/1); with --best a question, as weft explore takes it"))
      ->required();
  CLI::Option* best = command.add_option("--best", options.best.count,
                                         "Run the so many schedules that are predicted fastest, and serial, in turns");
  best->check(numbers(1, 50));
  reads_machine(command.add_option("--machine", options.best.question.machine, "With --best: profile of this machine"))
      ->needs(best);
  command.add_option("--gpus", options.best.question.gpus, "With --best: GPUs")->needs(best);
  command.add_option("--tokens", options.best.question.sizes, "With --best: sizes")->delimiter(',')->needs(best);
  writes(command.add_option("--schedule", options.best.schedule, "With --best: write the fastest schedule"))
      ->needs(best);
  options.output.add_to(command, "Write times, check, conditions and kernels");
  writes(command.add_option("--trace", options.trace, "Write the trace for Perfetto"));
  writes(command.add_option("--spans", options.spans, "Write the trace as weft.trace/1, for weft compare"));
  command
      .add_option("--condition", options.condition,
                  "sustained: under load without a pause until times agree; short: runs of 30 ms after a pause")
      ->capture_default_str();
  command.add_option("--repeats", options.run.repeats, "Timed runs with --condition short; their median counts")
      ->check(numbers(1, 1000))
      ->capture_default_str();
  command.add_option("--time-limit", options.run.time_limit_s, "Seconds for the schedule, start-up apart")
      ->check(time_limits())
      ->capture_default_str();
  command.add_flag("--no-check", options.no_check, "Do not compare the result with a reference");
  for (const char* of_one : {"--trace", "--spans", "--condition", "--repeats"}) best->excludes(of_one);
  CLI::Option* share = command.add_flag("--share-gpus", options.share_gpus,
                                        "Ranks may share a GPU: says whether the result is right, and no times");
  for (const char* of_times : {"--best", "--trace", "--spans", "--condition", "--repeats", "--no-check"})
    share->excludes(of_times);
}

}  // namespace weft::tools::commands
