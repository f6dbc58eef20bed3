// weft validate: how far predictions are from measurements.
#include "calibration/evidence/gpu_name.hpp"
#include "calibration/evidence/parts_alone.hpp"
#include "calibration/evidence/turns.hpp"
#include "calibration/report/accuracy_picture.hpp"
#include "calibration/report/accuracy_report.hpp"
#include "models/base/input_error.hpp"
#include "models/base/text_file.hpp"
#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "tools/commands/command.hpp"

namespace weft::tools::commands {
namespace {

struct ValidateOptions {
  std::vector<std::string> files;
  std::string machine, svg;
  bool rows = false, given = false, in_turn = false, targets = false;
  Output output;
};

report::Report report_of(const ValidateOptions& options, const std::vector<evidence::MeasuredCase>& measured,
                         const Machine& machine) {
  const calibration::report::Source source{machine.name, options.files};
  if (options.targets)
    return calibration::report::targets_report(
        evidence::target_results(evidence::evidence_of(measured, machine, show_progress("cases"))), source);
  std::size_t refused = 0;
  const std::vector<evidence::Comparison> comparisons = compare(measured, machine, refused, {}, show_progress("cases"));
  report::Report report =
      calibration::report::accuracy_report(measured, comparisons, refused, machine, source, options.rows);
  if (!options.svg.empty()) write_text_file(options.svg, calibration::report::accuracy_picture(comparisons));
  return report;
}

void run_validate(const ValidateOptions& options) {
  options.output.require_writable();
  require_writable(options.svg);
  const Machine machine = read_machine(machine_path(options.machine));
  std::vector<evidence::MeasuredCase> measured = evidence::read_measurements(options.files);
  for (const evidence::MeasuredCase& one : measured)
    if (!evidence::is_of_maker(one.conditions.gpu, machine))
      throw InputError("--machine", "expected a profile of GPUs by the maker of " + one.conditions.gpu +
                                        ", which was measured, got " + machine.name);
  if (options.given) measured = evidence::with_parts_given(measured);
  if (options.in_turn) measured = evidence::in_their_mixes(std::move(measured), machine, {}, show_progress("mixes"));
  if (measured.empty()) throw InputError(options.files.front(), "expected pairs beside both of their parts, got none");
  options.output.write(report_of(options, measured, machine));
}

}  // namespace

void add_validate_command(CLI::App& app) {
  auto [command, options] = add_command(app, "validate", "Compare predictions with measurements", run_validate);
  reads(command.add_option("MEASUREMENTS", options.files, "Files that weft measure wrote"))->required();
  reads_machine(command.add_option("--machine", options.machine, "Name or path of a machine profile"))->required();
  options.output.add_to(command, "Write the tables as one JSON object");
  command.add_flag("--rows", options.rows, "Print every case");
  auto* svg = writes(command.add_option("--svg", options.svg, "Draw predicted over measured times"));
  auto* given = command.add_flag("--given", options.given,
                                 "Only pairs whose parts the files have too, predicted from the parts' measured times");
  command.add_flag("--in-turn", options.in_turn,
                   "Predict what was measured in turn at the clock of its mix, not at that of each one's own load");
  command.add_flag("--targets", options.targets, "Only what the predictions have to reach, and whether they do")
      ->excludes(svg)
      ->excludes(given);
}

}  // namespace weft::tools::commands
