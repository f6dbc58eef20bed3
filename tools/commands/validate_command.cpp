// weft validate: how far predictions are from measurements.
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "calibration/evidence/parts_alone.hpp"
#include "models/base/input_error.hpp"
#include "models/base/json_file.hpp"
#include "models/base/statistics.hpp"
#include "models/base/text.hpp"
#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "tools/commands/commands.hpp"
#include "tools/report/accuracy_picture.hpp"
#include "tools/report/accuracy_report.hpp"
#include "tools/report/table.hpp"
#include "tools/rooms.hpp"

namespace weft::tools::commands {
namespace {

using nlohmann::ordered_json;

struct Options {
  std::vector<std::string> files;
  std::string machine, json, svg;
  bool rows = false, given = false, targets = false;
};

void print_rows(const std::vector<evidence::Comparison>& comparisons) {
  report::Table table({"workload", "schedule", "GPUs", "measured us", "predicted us", "error %", "noise %"});
  for (const evidence::Comparison& one : comparisons) {
    const auto& repeats = one.measured.repeats_us;
    const double noise = repeats.empty() ? 0 : relative_spread(repeats);
    table.add({describe(one.measured.request.workload), describe(one.measured.request.schedule),
               std::to_string(one.measured.request.gpus), fixed(one.measured.time_us, 1), fixed(one.predicted_us, 1),
               fixed(100 * one.error(), 1), fixed(100 * noise, 1)});
  }
  std::cout << table << '\n';
}

ordered_json header_of(const Options& options, const Machine& machine) {
  return {{"machine", machine.name}, {"files", options.files}};
}

void run_targets(const Options& options, const std::vector<evidence::MeasuredCase>& measured, const Machine& machine) {
  const std::vector<evidence::TargetResult> results =
      evidence::target_results(evidence::evidence_of(measured, machine));
  ordered_json json = header_of(options, machine);
  json["targets"] = report::to_json(results);
  if (!options.json.empty()) write_json_file(options.json, json);
  report::print_targets(std::cout, results);
}

void run_report(const Options& options, const std::vector<evidence::MeasuredCase>& measured, const Machine& machine) {
  std::size_t refused = 0;
  const std::vector<evidence::Comparison> comparisons = compare(measured, machine, refused);
  const report::AccuracyReport report = report::report_of(measured, comparisons, machine);
  ordered_json json = header_of(options, machine);
  json.update(to_json(report));
  if (!options.json.empty()) write_json_file(options.json, json);
  if (!options.svg.empty()) write_text_file(options.svg, report::accuracy_picture(comparisons));
  if (options.rows) print_rows(comparisons);
  std::cout << report;
  if (refused > 0)
    std::cout << refused << " measurements of schedules that the simulator does not have are left out.\n";
}

void run(const Options& options) {
  require_writable(options.json);
  require_writable(options.svg);
  const Machine machine = read_machine(machine_path(options.machine));
  std::vector<evidence::MeasuredCase> measured = evidence::read_measurements(options.files);
  if (options.given) measured = evidence::with_parts_given(measured);
  if (measured.empty()) throw InputError(options.files.front(), "expected pairs beside both of their parts, got none");
  options.targets ? run_targets(options, measured, machine) : run_report(options, measured, machine);
}

}  // namespace

void add_validate_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("validate", "Compare predictions with measurements");
  auto options = std::make_shared<Options>();
  command->add_option("MEASUREMENTS", options->files, "Files that weft measure wrote")->required();
  command->add_option("--machine", options->machine, "Name or path of a machine profile")->required();
  command->add_option("--json", options->json, "Write the tables as one JSON object");
  command->add_flag("--rows", options->rows, "Print every case");
  auto* svg = command->add_option("--svg", options->svg, "Draw predicted over measured times");
  auto* given = command->add_flag(
      "--given", options->given, "Only pairs whose parts the files have too, predicted from the parts' measured times");
  command->add_flag("--targets", options->targets, "Only what the predictions have to reach, and whether they do")
      ->excludes(svg)
      ->excludes(given);
  command->callback([options] { run(*options); });
}

}  // namespace weft::tools::commands
