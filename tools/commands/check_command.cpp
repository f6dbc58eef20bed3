// weft check: is a schedule file one that can run, and does it compute what it says?
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "models/base/input_error.hpp"
#include "models/check/schedule_file.hpp"
#include "models/schedule/amounts.hpp"
#include "sim/meaning/numerical_meaning.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/files.hpp"
#include "tools/commands/output.hpp"

namespace weft::tools::commands {
namespace {

constexpr std::uint64_t runs = 4;  ///< with other durations and operands each

/// Larger schedules are not computed: integers on one core would take minutes or more memory than there is.
constexpr double most_flops = 1e10, most_elements = 5e7;

struct Options {
  std::string schedule;
  Output output;
};

bool is_small(const Schedule& schedule) {
  double flops = 0, elements = 0;
  for (const Operation& operation : schedule.operations) flops += tensor_flops(operation.work, schedule.gpus);
  for (const Buffer& buffer : schedule.buffers) elements += static_cast<double>(buffer.rows * buffer.columns);
  return flops * schedule.gpus * runs <= most_flops && elements * schedule.gpus <= most_elements;
}

/// Throws InputError, field "meaning…", for a meaning that does not fit the buffers, and for the first wrong element;
/// field "operations…" for an operation that means nothing in integers.
void require_meaning(const Schedule& schedule) {
  for (std::uint64_t seed = 0; seed < runs; ++seed)
    if (const auto wrong = sim::meaning::check_meaning(schedule, seed)) throw InputError("meaning", describe(*wrong));
}

/// What is known of the result, for people. Throws InputError, field "meaning…", as require_meaning().
std::string check_meaning(const Schedule& schedule) {
  if (!schedule.meaning) return "says nothing of what it computes";
  if (!is_small(schedule)) return "too large to compute " + schedule.meaning->op + " in integers";
  try {
    require_meaning(schedule);
  } catch (const InputError& error) {
    if (!error.field().starts_with("operations")) throw;
    return "not computed in integers: " + std::string(error.what());
  }
  return "computes " + schedule.meaning->op + ", in integers, in " + std::to_string(runs) +
         " runs with random durations";
}

report::Report report_of(const Schedule& schedule, const std::string& meaning) {
  return {.title = schedule.name,
          .sections = {{"",
                        {{"check", "result"},
                         {{"valid", "yes"}, {"deadlock", "none"}, {"race", "none"}, {"meaning", meaning}}},
                        {}}},
          .notes = {},
          .document = nlohmann::ordered_json{
              {"schedule", schedule.name}, {"valid", true}, {"deadlocks", 0}, {"races", 0}, {"meaning", meaning}}};
}

void run(const Options& options) {
  options.output.require_writable();
  const Schedule schedule = read_schedule(options.schedule);  // valid, no deadlock, no race
  try {
    options.output.write(report_of(schedule, check_meaning(schedule)));
  } catch (const InputError& error) {
    throw error.in_file(options.schedule);
  }
}

}  // namespace

void add_check_command(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("check", "Is a schedule file right: valid, no deadlock, no race, does it mean what it says?");
  auto options = std::make_shared<Options>();
  reads(command->add_option("SCHEDULE", options->schedule, "Schedule file (weft.schedule/1)"))->required();
  options->output.add_to(*command, "Write what was checked");
  command->callback([options] { run(*options); });
}

}  // namespace weft::tools::commands
