// weft doctor: what this machine can run, found by running it: every kind of schedule once, small, with its result
// checked.
#include <memory>

#include "calibration/report/doctor_report.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/output.hpp"

namespace weft::tools::commands {

void add_doctor_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("doctor", "Which schedules this machine can run, and why not the others");
  struct Options {
    Output output;
    double time_limit_s = 20;
  };
  auto options = std::make_shared<Options>();
  options->output.add_to(*command, "Write what was found");
  command->add_option("--time-limit", options->time_limit_s, "Seconds for each schedule")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->callback([options] {
    options->output.require_writable();
    options->output.write(calibration::report::doctor_report(calibration::examine(options->time_limit_s)));
  });
}

}  // namespace weft::tools::commands
