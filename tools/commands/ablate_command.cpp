// weft ablate: what each mechanism of the simulated machine is worth, against measurements.
#include <memory>
#include <nlohmann/json.hpp>

#include "calibration/evidence/ablation.hpp"
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
  report::Table table{
      {"switched off", "cases", "mean %", report::droppable("median %", 1), report::droppable("p90 %", 2), "bias %"},
      {}};
  nlohmann::ordered_json json{{"machine", machine.name}, {"files", options.files}};
  for (const auto& [name, accuracy] : evidence::ablations(measured, machine, show_progress("cases"))) {
    const auto percent = [](double share) { return report::Number{100 * share, 1}; };
    table.rows.push_back({std::string(name), report::count(accuracy.cases), percent(accuracy.mean),
                          percent(accuracy.median), percent(accuracy.p90), percent(accuracy.bias)});
    json["switched_off"][std::string(name)] = {{"cases", accuracy.cases},
                                               {"mean_error", accuracy.mean},
                                               {"median_error", accuracy.median},
                                               {"p90_error", accuracy.p90},
                                               {"bias", accuracy.bias}};
  }
  options.output.write({.title = "", .sections = {{"", table, {}}}, .notes = {}, .document = json});
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
