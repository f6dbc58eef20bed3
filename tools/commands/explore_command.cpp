// weft explore: which schedule wins, by how much, why the others lose, and what it means for the layer.
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "models/base/text_file.hpp"
#include "models/check/schedule_file.hpp"
#include "models/execution/trace_json.hpp"
#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "scenarios/question_text.hpp"
#include "scenarios/study/explanation.hpp"
#include "scenarios/study/exploration.hpp"
#include "sim/simulated_executor.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/files.hpp"
#include "tools/commands/output.hpp"
#include "tools/report/exploration_report.hpp"
#include "tools/report/losses_picture.hpp"
#include "tools/report/terminal.hpp"
#include "tools/rooms.hpp"

namespace weft::tools::commands {
namespace {

using scenarios::Scenario;

struct Options {
  std::string scenario, machine, trace, schedule, why, svg, space = "likely";
  std::optional<int> gpus;
  std::vector<std::int64_t> tokens;
  std::int64_t size = 0;
  bool all = false;
  Output output;

  bool asks_for_all() const { return why == "all"; }
  /// The schedule that --why names.
  std::string named() const { return asks_for_all() ? "" : why; }
};

/// What is asked: one size, or all of the scenario's; the whole space is walked at one size.
Scenario asked_scenario(const Options& options, const Scenario& scenario, const Machine& machine) {
  const bool is_whole_space = options.space == "all";
  if (options.size == 0 && !is_whole_space) return scenario;
  const Scenario one = study::only_size(scenario, options.size != 0 ? options.size : scenario.sizes.back());
  return is_whole_space ? study::with_whole_space(one, machine) : one;
}

/// Errors name the field as the scenario's file has it, or the option.
InputError as_asked(const InputError& error, const Options& options, const Scenario& scenario) {
  if (error.field() == "schedule") return InputError("--why", error.expected());
  if (error.field() == "size") return InputError("--size", error.expected());
  return scenarios::as_written(error, scenario).in_file(options.scenario);
}

/// `scenario` is left with what was asked of it.
study::Exploration explore(const Options& options, Scenario& scenario, const Machine& machine) {
  try {
    study::require_gpus(scenario.gpus, machine);
    scenario = asked_scenario(options, scenario, machine);
    sim::SimulatedExecutor executor({.spans = false, .mechanisms = {}, .given_us = {}});
    return study::explore(scenario, machine, executor,
                          {.least_schedules = options.space == "likely" ? study::usual_schedules : 0,
                           .also = options.named(),
                           .progress = report::show_progress("schedules")});
  } catch (const InputError& error) {
    throw as_asked(error, options, scenario);
  }
}

/// Losses of what is printed; of every answer where a program reads them.
void explain(const Options& options, std::int64_t shown, study::Exploration& exploration, const Machine& machine) {
  std::vector<study::Answer*> answers;
  for (study::Answer& answer : exploration.answers)
    if (shown == 0 || answer.size == shown || options.output.has_json()) answers.push_back(&answer);
  study::explain(answers, machine, sim::simulate, {options.asks_for_all(), options.named()},
                 report::show_progress("explanations"));
}

/// A machine that is named says how many GPUs a question has that does not.
std::pair<Scenario, Machine> read_question(const Options& options) {
  std::optional<Machine> named;
  if (!options.machine.empty()) named = read_machine(machine_path(options.machine));
  Scenario scenario =
      scenarios::read_question(options.scenario, {.gpus = options.gpus,
                                                  .sizes = options.tokens,
                                                  .machine_gpus = named ? std::optional(named->gpus) : std::nullopt});
  const Machine machine = named && scenario.machine.empty()
                              ? std::move(*named)
                              : study::machine_of(scenario, options.machine, options.scenario);
  return {scenarios::as_machine_computes(std::move(scenario), machine), machine};
}

void write_fastest(const Options& options, const study::Answer& answer, const Machine& machine) {
  sim::SimulatedExecutor executor;
  const study::Prediction prediction =
      study::predict(answer.ranking.fastest().request, machine, executor, {.serial = false});
  if (!options.schedule.empty()) {
    Schedule schedule = prediction.schedule;
    schedule.machine = machine.name;
    write_checked(options.schedule, schedule);
  }
  if (!options.trace.empty()) write_perfetto(options.trace, {prediction.trace});
}

/// Of all schedules of the answer; of the whole space only those that were asked for their losses.
std::string picture_of(study::Answer& answer, const Options& options, const Scenario& scenario,
                       const Machine& machine) {
  if (options.space != "all")
    study::explain({&answer}, machine, sim::simulate, {.all = true}, report::show_progress("explanations"));
  std::vector<report::NamedLosses> schedules;
  for (const study::Explored& one : answer.fastest_first)
    if (one.losses) schedules.push_back({one.candidate.request.id, *one.losses});
  return report::losses_picture(answer.pair + ", " + std::to_string(answer.size) + " " + report::size_word(scenario) +
                                    ", " + std::to_string(scenario.gpus) + " GPUs, " + machine.name,
                                schedules);
}

void run(const Options& options) {
  options.output.require_writable();
  for (const std::string& path : {options.trace, options.schedule, options.svg}) require_writable(path);
  auto [scenario, machine] = read_question(options);
  study::Exploration exploration = explore(options, scenario, machine);
  const std::int64_t shown = options.all ? 0 : scenario.sizes.back();
  explain(options, shown, exploration, machine);
  study::Answer& winner = exploration.answers[exploration.most_gained()];
  const bool writes_fastest = !options.trace.empty() || !options.schedule.empty();
  if (writes_fastest) write_fastest(options, winner, machine);
  if (!options.svg.empty()) write_text_file(options.svg, picture_of(winner, options, scenario, machine));
  report::Report report = report::exploration_report(exploration, scenario, machine, shown);
  if (writes_fastest)
    report.notes.push_back("Written: " + winner.ranking.fastest().request.id + " (" + winner.pair + ", " +
                           std::to_string(winner.size) + " " + report::size_word(scenario) + ").");
  options.output.write(report);
}

}  // namespace

void add_explore_command(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("explore", "Does overlap pay for a model or a shape, by which schedule, from which size on?");
  auto options = std::make_shared<Options>();
  reads(
      command->add_option("MODEL", options->scenario,
                          "A model's config.json or its folder, a scenario file (weft.scenario/1), or words: \"m=4096 "
                          "n=8192 k=3584 op=gemm+all_reduce\""))
      ->required();
  reads_machine(command->add_option("--machine", options->machine,
                                    "Name or path of a machine profile (default: the scenario's, where it names one)"));
  command
      ->add_option("--gpus", options->gpus,
                   "Tensor-parallel over so many GPUs (default: the scenario's, else all of the machine)")
      ->check(CLI::Range(scenarios::gpu_counts.least, scenarios::gpu_counts.most));
  command
      ->add_option("--tokens", options->tokens,
                   "Tokens, or rows, to ask about (default: the scenario's, else 512, 1024, … 16384)")
      ->delimiter(',')
      ->check(CLI::Range(std::int64_t{1}, scenarios::max_extent));
  command->add_option("--size", options->size,
                      "Ask about this size alone (default: about all, showing the schedules of the largest)");
  command->add_flag("--all", options->all, "Show the schedules of every size");
  command->add_option("--why", options->why,
                      "Say what this schedule loses time to, as for the winner and serial; or all of them");
  writes(command->add_option("--svg", options->svg,
                             "Draw where the time goes under each schedule of the pair that gains most"));
  command
      ->add_option("--space", options->space,
                   "likely: the families, and the hybrids that an estimate likes best; named: the families alone; all: "
                   "every sensible hybrid too, at one size")
      ->check(CLI::IsMember({"likely", "named", "all"}));
  options->output.add_to(*command, "Write everything as one JSON object");
  writes(
      command->add_option("--trace", options->trace, "Write the trace of the schedule that saves most, for Perfetto"));
  writes(command->add_option("--schedule", options->schedule, "Write the schedule that saves most, for weft run"));
  command->callback([options] { run(*options); });
}

}  // namespace weft::tools::commands
