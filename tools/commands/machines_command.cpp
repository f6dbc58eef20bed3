// weft machines: which profiles there are, every number of one with its unit and its source, and published times of
// collectives beside what is predicted.

#include "calibration/report/curves_report.hpp"
#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "models/report/machine_report.hpp"
#include "tools/commands/command.hpp"

namespace weft::tools::commands {
namespace {

struct MachinesOptions {
  std::string name;
  bool curves = false, points = false;
  Output output;
};

report::Table table_of(const MachinesOptions& options) {
  if (options.name.empty()) return report::all_machines();
  const auto profile = machine_path(options.name);
  return options.curves ? calibration::report::curves_of(read_machine(profile), options.points)
                        : report::numbers_of(profile);
}

void run_machines(const MachinesOptions& options) {
  options.output.write({.sections = {{.table = table_of(options)}}});
}

}  // namespace

void add_machines_command(CLI::App& app) {
  auto [command, options] =
      add_command(app, "machines", "List the machine profiles, or one profile's numbers and sources", run_machines);
  auto* name = command.add_option("NAME", options.name, "Name or path of a profile");
  auto* curves = command.add_flag("--curves", options.curves,
                                  "Published times of collectives beside the predicted ones, curve by curve");
  curves->needs(name);
  command.add_flag("--points", options.points, "With --curves: size by size")->needs(curves);
  options.output.add_to(command);
}

}  // namespace weft::tools::commands
