// weft run: one schedule file on the GPUs of this machine.
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "calibration/hardware.hpp"
#include "calibration/measurement_json.hpp"
#include "models/base/json_file.hpp"
#include "models/base/text.hpp"
#include "models/check/hardware_support.hpp"
#include "models/check/schedule_file.hpp"
#include "models/execution/trace_json.hpp"
#include "models/schedule/schedule_json.hpp"
#include "tools/commands/commands.hpp"
#include "tools/report/table.hpp"

namespace weft::tools::commands {
namespace {

using calibration::Conditions;
using calibration::Measurement;

struct Options {
  std::string schedule, json, trace, spans;
  calibration::RunOptions run;
  bool no_check = false;
};

struct Result {
  Conditions conditions;
  Measurement measurement;
};

Result measure(const Schedule& schedule, const calibration::RunOptions& options) {
  Result result;
  std::optional<std::string> problem;
  calibration::measure({schedule}, options,
                       {.on_conditions = [&](const Conditions& conditions) { result.conditions = conditions; },
                        .on_result = [&](std::size_t, const Measurement& found) { result.measurement = found; },
                        .on_error = [&](std::size_t, const std::string& message) { problem = message; }});
  if (problem) throw ExecutionError(schedule.name + ": " + *problem);
  result.measurement.trace.machine = schedule.machine;
  return result;
}

void print(const Result& result) {
  const auto& [conditions, measurement] = result;
  report::Table table({"operation", "stream", "start us", "end us", "us", "detail"});
  for (const Span& span : measurement.trace.spans)
    if (span.gpu == 0)
      table.add({span.operation, span.stream, fixed(span.start_us, 1), fixed(span.end_us, 1),
                 fixed(span.end_us - span.start_us, 1), span.detail});
  std::cout << table << "one iteration: " << fixed(measurement.time_us, 1) << " us on " << conditions.gpus << " x "
            << conditions.gpu << " (runs:";
  for (const double time_us : measurement.repeats_us) std::cout << ' ' << fixed(time_us, 1);
  std::cout << ")\n";
  if (measurement.checked)
    std::cout << "result right: largest error " << measurement.max_error << ", allowed " << measurement.error_bound
              << '\n';
  else
    std::cout << "result not checked\n";
}

void write(const Options& options, const std::string& name, const Result& result) {
  if (!options.json.empty()) {
    nlohmann::ordered_json json{{"schedule", name}};
    json.update(nlohmann::ordered_json(calibration::to_json(result.measurement)));
    json["conditions"] = calibration::to_json(result.conditions);
    write_json_file(options.json, json);
  }
  if (!options.trace.empty()) {
    std::ostringstream text;
    write_perfetto({result.measurement.trace}, text);
    write_text_file(options.trace, text.str());
  }
  if (!options.spans.empty()) write_trace(options.spans, result.measurement.trace);
}

void run(Options options) {
  options.run.check = !options.no_check;
  options.run.spans = true;
  const Schedule schedule = read_schedule(options.schedule);
  try {
    require_runnable(schedule);
  } catch (const InputError& error) {
    throw error.in_file(options.schedule);
  }
  for (const std::string& path : {options.json, options.trace, options.spans}) require_writable(path);
  const Result result = measure(schedule, options.run);
  write(options, schedule.name, result);
  print(result);
}

}  // namespace

void add_run_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("run", "Run one schedule file on the GPUs of this machine");
  auto options = std::make_shared<Options>();
  command->add_option("SCHEDULE", options->schedule, "Schedule file (weft.schedule/1)")->required();
  command->add_option("--json", options->json, "Write times, check, conditions and kernels");
  command->add_option("--trace", options->trace, "Write the trace for Perfetto");
  command->add_option("--spans", options->spans, "Write the trace as weft.trace/1, for weft compare");
  command->add_option("--repeats", options->run.repeats, "Timed runs; their median counts")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_option("--time-limit", options->run.time_limit_s, "Seconds for the schedule, start-up apart")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_flag("--no-check", options->no_check, "Do not compare the result with a reference");
  command->callback([options] { run(*options); });
}

}  // namespace weft::tools::commands
