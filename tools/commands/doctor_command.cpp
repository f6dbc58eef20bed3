// weft doctor: what this machine can run, found by running it: every kind of schedule once, small, with its result
// checked.

#include "calibration/report/doctor_report.hpp"
#include "tools/commands/command.hpp"
#include "tools/commands/numbers.hpp"

namespace weft::tools::commands {
namespace {

struct DoctorOptions {
  Output output;
  double time_limit_s = 20;
};

void run_doctor(const DoctorOptions& options) {
  options.output.require_writable();
  options.output.write(calibration::report::doctor_report(calibration::examine(options.time_limit_s)));
}

}  // namespace

void add_doctor_command(CLI::App& app) {
  auto [command, options] =
      add_command(app, "doctor", "Which schedules this machine can run, and why not the others", run_doctor);
  options.output.add_to(command, "Write what was found");
  command.add_option("--time-limit", options.time_limit_s, "Seconds for each schedule")
      ->check(time_limits())
      ->capture_default_str();
}

}  // namespace weft::tools::commands
