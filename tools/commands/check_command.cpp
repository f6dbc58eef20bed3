// weft check: is a schedule file one that can run, and does it compute what it says?
#include <nlohmann/json.hpp>
#include <string>

#include "models/base/input_error.hpp"
#include "models/check/schedule_file.hpp"
#include "sim/meaning/meaning_report.hpp"
#include "tools/commands/command.hpp"

namespace weft::tools::commands {
namespace {

struct CheckOptions {
  std::string schedule;
  Output output;
};

report::Report report_of(const Schedule& schedule, const std::string& meaning) {
  return {.title = schedule.name,
          .sections = {{"",
                        {{"check", "result"},
                         {{"valid", "yes"}, {"deadlock", "none"}, {"race", "none"}, {"meaning", meaning}}},
                        {}}},
          .document = nlohmann::ordered_json{
              {"schedule", schedule.name}, {"valid", true}, {"deadlocks", 0}, {"races", 0}, {"meaning", meaning}}};
}

void run_check(const CheckOptions& options) {
  options.output.require_writable();
  const Schedule schedule = read_schedule(options.schedule);  // valid, no deadlock, no race
  try {
    options.output.write(report_of(schedule, sim::meaning::meaning_in_words(schedule)));
  } catch (const InputError& error) {
    throw error.in_file(options.schedule);
  }
}

}  // namespace

void add_check_command(CLI::App& app) {
  auto [command, options] = add_command(
      app, "check", "Is a schedule file right: valid, no deadlock, no race, does it mean what it says?", run_check);
  reads(command.add_option("SCHEDULE", options.schedule, "Schedule file (weft.schedule/1)"))->required();
  options.output.add_to(command, "Write what was checked");
}

}  // namespace weft::tools::commands
