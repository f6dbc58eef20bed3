// weft ablate: what each mechanism of the simulated machine is worth, against measurements.
#include "calibration/evidence/ablation.hpp"
#include "calibration/report/accuracy_report.hpp"
#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "tools/commands/command.hpp"

namespace weft::tools::commands {
namespace {

struct AblateOptions {
  std::vector<std::string> files;
  std::string machine;
  Output output;
};

void run_ablate(const AblateOptions& options) {
  options.output.require_writable();
  const Machine machine = read_machine(machine_path(options.machine));
  const std::vector<evidence::MeasuredCase> measured = evidence::read_measurements(options.files);
  options.output.write(calibration::report::ablation_report(
      evidence::ablations(measured, machine, show_progress("cases")), {machine.name, options.files}));
}

}  // namespace

void add_ablate_command(CLI::App& app) {
  auto [command, options] =
      add_command(app, "ablate", "Errors of predictions with each mechanism of the simulator switched off", run_ablate);
  reads(command.add_option("MEASUREMENTS", options.files, "Files that weft measure wrote"))->required();
  reads_machine(command.add_option("--machine", options.machine, "Name or path of a machine profile"))->required();
  options.output.add_to(command, "Write the table as one JSON object");
}

}  // namespace weft::tools::commands
