// weft simulate: one schedule file on the simulator.
#include <nlohmann/json.hpp>

#include "models/base/text.hpp"
#include "models/base/text_file.hpp"
#include "models/check/schedule_file.hpp"
#include "models/execution/perfetto.hpp"
#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "models/report/trace_picture.hpp"
#include "models/report/trace_report.hpp"
#include "scenarios/study/prediction.hpp"
#include "sim/simulated_executor.hpp"
#include "tools/commands/command.hpp"

namespace weft::tools::commands {
namespace {

struct SimulateOptions {
  std::string schedule, machine, trace, svg;
  Output output;
};

void run_simulate(const SimulateOptions& options) {
  for (const std::string& path : {options.trace, options.svg}) require_writable(path);
  options.output.require_writable();
  const Machine machine = read_machine(machine_path(options.machine));
  Timeline timeline;
  try {
    const Schedule schedule = read_schedule(options.schedule);
    study::require_machine(schedule, machine);
    const sim::SimulatedExecutor executor;
    timeline = options.trace.empty() ? Timeline{executor.run(schedule, machine, nullptr)}
                                     : executor.observe(schedule, machine);
  } catch (const InputError& error) {
    throw std::string(error.what()).starts_with(options.schedule) ? error : error.in_file(options.schedule);
  }
  if (!options.trace.empty()) write_perfetto(options.trace, {timeline});
  const Trace& trace = timeline.trace;
  if (!options.svg.empty()) write_text_file(options.svg, report::svg_picture({trace}));
  report::Report report = report::trace_report(trace);
  report.sections.front().notes.push_back("one iteration: " + fixed(trace.time_us, 1) + " us, limited by " +
                                          std::string(name_of(trace.limited_by)));
  options.output.write(report);
}

}  // namespace

void add_simulate_command(CLI::App& app) {
  auto [command, options] = add_command(app, "simulate", "Simulate one schedule file", run_simulate);
  reads(command.add_option("SCHEDULE", options.schedule, "Schedule file (weft.schedule/1)"))->required();
  reads_machine(command.add_option("--machine", options.machine, "Name or path of a machine profile"))->required();
  writes(command.add_option("--trace", options.trace, "Write the trace for Perfetto"));
  writes(command.add_option("--svg", options.svg, "Draw GPU 0 into this file"));
  options.output.add_to(command, "Write the trace as weft.trace/1, for weft compare");
}

}  // namespace weft::tools::commands
