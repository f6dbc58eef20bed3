// weft ablate: what each mechanism of the simulated machine is worth, against measurements.
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "calibration/evidence/accuracy.hpp"
#include "models/base/json_file.hpp"
#include "models/base/text.hpp"
#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "tools/commands/commands.hpp"
#include "tools/report/table.hpp"
#include "tools/rooms.hpp"

namespace weft::tools::commands {
namespace {

using nlohmann::ordered_json;

struct Options {
  std::vector<std::string> files;
  std::string machine, json;
};

void run(const Options& options) {
  require_writable(options.json);
  const Machine machine = read_machine(machine_path(options.machine));
  const std::vector<evidence::MeasuredCase> measured = evidence::read_measurements(options.files);

  report::Table table({"switched off", "cases", "mean %", "median %", "p90 %", "bias %"});
  ordered_json json{{"machine", machine.name}, {"files", options.files}};
  const auto add = [&](std::string_view name, const sim::Mechanisms& mechanisms) {
    std::size_t refused = 0;
    const evidence::Accuracy accuracy = evidence::accuracy_of(compare(measured, machine, refused, mechanisms));
    const auto percent = [](double share) { return fixed(100 * share, 1); };
    table.add({std::string(name), std::to_string(accuracy.cases), percent(accuracy.mean), percent(accuracy.median),
               percent(accuracy.p90), percent(accuracy.bias)});
    json["switched_off"][std::string(name)] = {{"cases", accuracy.cases},
                                               {"mean_error", accuracy.mean},
                                               {"median_error", accuracy.median},
                                               {"p90_error", accuracy.p90},
                                               {"bias", accuracy.bias}};
  };
  add("none", {});
  for (const sim::NamedMechanism& mechanism : sim::named_mechanisms) {
    sim::Mechanisms mechanisms;
    mechanisms.*mechanism.is_on = false;
    add(mechanism.name, mechanisms);
  }
  if (!options.json.empty()) write_json_file(options.json, json);
  std::cout << table;
}

}  // namespace

void add_ablate_command(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("ablate", "Errors of predictions with each mechanism of the simulator switched off");
  auto options = std::make_shared<Options>();
  command->add_option("MEASUREMENTS", options->files, "Files that weft measure wrote")->required();
  command->add_option("--machine", options->machine, "Name or path of a machine profile")->required();
  command->add_option("--json", options->json, "Write the table as one JSON object");
  command->callback([options] { run(*options); });
}

}  // namespace weft::tools::commands
