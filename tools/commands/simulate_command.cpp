// weft simulate: one schedule file on the simulator, and what it gains over another one of the same work.
#include <nlohmann/json.hpp>
#include <optional>

#include "models/base/text.hpp"
#include "models/base/text_file.hpp"
#include "models/check/machine_support.hpp"
#include "models/check/schedule_file.hpp"
#include "models/execution/perfetto.hpp"
#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "models/report/trace_picture.hpp"
#include "models/report/trace_report.hpp"
#include "scenarios/report/losses_table.hpp"
#include "scenarios/study/losses.hpp"
#include "scenarios/study/prediction.hpp"
#include "sim/simulated_executor.hpp"
#include "tools/commands/command.hpp"

namespace weft::tools::commands {
namespace {

struct SimulateOptions {
  std::string schedule, machine, against, trace, svg;
  Output output;
};

/// An error names the file.
Schedule schedule_of(const std::string& file, const Machine& machine) {
  try {
    Schedule schedule = read_schedule(file);
    study::require_machine(schedule, machine);
    return schedule;
  } catch (const InputError& error) {
    throw std::string(error.what()).starts_with(file) ? error : error.in_file(file);
  }
}

/// Where the time of both goes, beyond perfect overlap of the parts of `serial`.
void add_comparison(const SimulateOptions& options, const Schedule& schedule, const Machine& machine,
                    report::Report& report) {
  const Schedule serial = schedule_of(options.against, machine);
  if (serial.gpus != schedule.gpus)
    throw InputError(options.against, "expected a schedule for " + std::to_string(schedule.gpus) + " GPUs, got " +
                                          std::to_string(serial.gpus));
  const study::LossAccount account(serial, machine, sim::simulate);
  const study::Losses own = account.of(schedule), others = account.of(serial);
  report.sections.push_back(scenarios::report::losses_table({{options.schedule, own}, {options.against, others}}));
  const double speedup = static_cast<double>(others.time_ps) / static_cast<double>(own.time_ps);
  report.sections.back().notes.push_back(fixed(speedup, 3) + "x over " + options.against + ".");
}

std::optional<std::string> why_not_able(const Machine& machine, const Schedule& schedule) {
  try {
    require_able(machine, schedule);
    return std::nullopt;
  } catch (const InputError& error) {
    return "weft run cannot run it there: " + std::string(error.what()) + ".";
  }
}

void run_simulate(const SimulateOptions& options) {
  for (const std::string& path : {options.trace, options.svg}) require_writable(path);
  options.output.require_writable();
  const Machine machine = read_machine(machine_path(options.machine));
  const Schedule schedule = schedule_of(options.schedule, machine);
  Timeline timeline;
  try {
    const sim::SimulatedExecutor executor;
    timeline = options.trace.empty() ? Timeline{executor.run(schedule, machine, nullptr)}
                                     : executor.observe(schedule, machine);
  } catch (const InputError& error) {
    throw error.in_file(options.schedule);
  }
  if (!options.trace.empty()) write_perfetto(options.trace, {timeline});
  const Trace& trace = timeline.trace;
  if (!options.svg.empty()) write_text_file(options.svg, report::svg_picture({trace}));
  report::Report report = report::trace_report(trace);
  report.sections.front().notes.push_back("one iteration: " + fixed(trace.time_us, 1) + " us, limited by " +
                                          std::string(name_of(trace.limited_by)));
  if (auto reason = why_not_able(machine, schedule)) report.sections.front().notes.push_back(std::move(*reason));
  if (!options.against.empty()) add_comparison(options, schedule, machine, report);
  options.output.write(report);
}

}  // namespace

void add_simulate_command(CLI::App& app) {
  auto [command, options] = add_command(app, "simulate", "Simulate one schedule file", run_simulate);
  reads(command.add_option("SCHEDULE", options.schedule, "Schedule file (weft.schedule/1)"))->required();
  reads_machine(command.add_option("--machine", options.machine, "Name or path of a machine profile"))->required();
  reads(command.add_option("--against", options.against,
                           "A schedule of the same work, one operation after the other: what is gained over it, and to "
                           "what both lose time"));
  writes(command.add_option("--trace", options.trace, "Write the trace for Perfetto"));
  writes(command.add_option("--svg", options.svg, "Draw GPU 0 into this file"));
  options.output.add_to(command, "Write the trace as weft.trace/1, for weft compare");
}

}  // namespace weft::tools::commands
