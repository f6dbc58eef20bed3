// weft ablate: what each mechanism of the simulated machine is worth, against measurements.
#include <memory>

#include "calibration/evidence/ablation.hpp"
#include "calibration/report/accuracy_report.hpp"
#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/files.hpp"
#include "tools/commands/output.hpp"
#include "tools/commands/terminal.hpp"
#include "tools/rooms.hpp"

namespace weft::tools::commands {
namespace {

struct Options {
  std::vector<std::string> files;
  std::string machine;
  Output output;
};

void run(const Options& options) {
  options.output.require_writable();
  const Machine machine = read_machine(machine_path(options.machine));
  const std::vector<evidence::MeasuredCase> measured = evidence::read_measurements(options.files);
  options.output.write(calibration::report::ablation_report(
      evidence::ablations(measured, machine, show_progress("cases")), {machine.name, options.files}));
}

}  // namespace

void add_ablate_command(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("ablate", "Errors of predictions with each mechanism of the simulator switched off");
  auto options = std::make_shared<Options>();
  reads(command->add_option("MEASUREMENTS", options->files, "Files that weft measure wrote"))->required();
  reads_machine(command->add_option("--machine", options->machine, "Name or path of a machine profile"))->required();
  options->output.add_to(*command, "Write the table as one JSON object");
  command->callback([options] { run(*options); });
}

}  // namespace weft::tools::commands
