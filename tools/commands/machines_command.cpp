// weft machines: which profiles there are, every number of one with its unit and its source, and published times of
// collectives beside what is predicted.
#include <memory>
#include <string>

#include "calibration/report/curves_report.hpp"
#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "models/report/machine_report.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/output.hpp"

namespace weft::tools::commands {

void add_machines_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("machines", "List the machine profiles, or one profile's numbers and sources");
  struct Options {
    std::string name;
    bool curves = false, points = false;
    Output output;
  };
  auto options = std::make_shared<Options>();
  auto* name = command->add_option("NAME", options->name, "Name or path of a profile");
  auto* curves = command->add_flag("--curves", options->curves,
                                   "Published times of collectives beside the predicted ones, curve by curve");
  curves->needs(name);
  command->add_flag("--points", options->points, "With --curves: size by size")->needs(curves);
  options->output.add_to(*command);
  command->callback([options] {
    const report::Table table =
        options->curves ? calibration::report::curves_of(read_machine(machine_path(options->name)), options->points)
        : options->name.empty() ? report::all_machines()
                                : report::numbers_of(machine_path(options->name));
    options->output.write({.title = "", .sections = {{"", table, {}}}, .notes = {}, .document = {}});
  });
}

}  // namespace weft::tools::commands
