// weft explore: which schedule wins, by how much, why the others lose, and what it means for the layer.
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "models/base/text.hpp"
#include "models/base/text_file.hpp"
#include "models/check/schedule_file.hpp"
#include "models/execution/perfetto.hpp"
#include "models/execution/trace_json.hpp"
#include "models/machine/machine_files.hpp"
#include "scenarios/report/exploration_report.hpp"
#include "scenarios/report/html_report.hpp"
#include "scenarios/report/losses_picture.hpp"
#include "scenarios/study/answer_report.hpp"
#include "scenarios/study/explanation.hpp"
#include "scenarios/study/exploration.hpp"
#include "scenarios/study/grade.hpp"
#include "scenarios/study/settings.hpp"
#include "scenarios/study/verdict.hpp"
#include "sim/simulated_executor.hpp"
#include "tools/commands/commands.hpp"
#include "tools/commands/files.hpp"
#include "tools/commands/output.hpp"
#include "tools/commands/question.hpp"
#include "tools/commands/terminal.hpp"
#include "tools/rooms.hpp"

namespace weft::tools::commands {
namespace {

using scenarios::Scenario;

struct Options {
  AskedQuestion question;
  std::string trace, schedule, settings, why, svg, html, measured, space = "likely";
  std::int64_t size = 0;
  bool all = false, careful = false;
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
  return scenarios::as_written(error, scenario).in_file(options.question.what);
}

/// `scenario` is left with what was asked of it.
study::Exploration explore(const Options& options, Scenario& scenario, const Machine& machine,
                           const ProfileGrades& grades) {
  try {
    study::require_gpus(scenario.gpus, machine);
    scenario = asked_scenario(options, scenario, machine);
    sim::SimulatedExecutor executor({.spans = false, .mechanisms = {}, .given_us = {}});
    return study::explore(scenario, machine, executor,
                          {.least_schedules = options.space == "likely" ? study::worth_looking_at(scenario) : 0,
                           .also = options.named(),
                           .rule = options.careful ? scenarios::Rule::careful : scenarios::Rule::least_regret,
                           .grades = grades,
                           .progress = show_progress("schedules")});
  } catch (const InputError& error) {
    throw as_asked(error, options, scenario);
  }
}

/// Of models, whose numbers of GPUs are a choice; a page shows them of plain sizes too, and gains.
study::Widths widths(const Options& options, const Scenario& scenario, const study::Exploration& exploration,
                     const Machine& machine) {
  const scenarios::Rule rule = options.careful ? scenarios::Rule::careful : scenarios::Rule::least_regret;
  sim::SimulatedExecutor executor({.spans = false, .mechanisms = {}, .given_us = {}});
  if (!options.html.empty()) return over_widths(scenario, exploration, machine, executor, rule);
  if (!scenario.model) return {};
  return {.crossovers = crossovers(scenario, exploration, machine, executor, rule), .gains = {}};
}

std::size_t leading(const study::Exploration& exploration, const Scenario& scenario) {
  return study::leading_answer(verdict_of(exploration, scenario), exploration);
}

/// Losses of what is printed; of every answer where a program reads them.
void explain(const Options& options, const scenarios::report::ExplorationView& view, study::Exploration& exploration,
             const Scenario& scenario, const Machine& machine) {
  std::vector<study::Answer*> answers;
  const study::Answer* const winner = &exploration.answers[leading(exploration, scenario)];
  for (study::Answer& answer : exploration.answers)
    if ((view.is_full && (view.shown == 0 || view.shown == answer.size)) || &answer == winner ||
        options.output.has_json() || !options.html.empty())
      answers.push_back(&answer);
  study::explain(answers, machine, sim::simulate, {options.asks_for_all(), options.named()},
                 show_progress("explanations"));
}

void write_fastest(const Options& options, const study::Answer& answer, const Machine& machine) {
  sim::SimulatedExecutor executor;
  const scenarios::Case& winner = answer.ranking.fastest().request;
  const study::Prediction prediction = study::predict(winner, machine, executor, {.serial = false});
  if (!options.schedule.empty()) {
    Schedule schedule = prediction.schedule;
    schedule.machine = machine.name;
    write_checked(options.schedule, schedule);
  }
  if (!options.trace.empty())
    write_perfetto(options.trace,
                   {executor.observe(prediction.schedule, study::machine_for(winner, machine, executor))});
}

/// Of all schedules of the answer; of the whole space only those that were asked for their losses.
std::string picture_of(study::Answer& answer, const Options& options, const Scenario& scenario,
                       const Machine& machine) {
  if (options.space != "all")
    study::explain({&answer}, machine, sim::simulate, {.all = true}, show_progress("explanations"));
  std::vector<scenarios::report::NamedLosses> schedules;
  for (const study::Explored& one : answer.fastest_first)
    if (one.losses) schedules.push_back({one.candidate.request.id, *one.losses});
  return scenarios::report::losses_picture(answer.pair + ", " + std::to_string(answer.size) + " " +
                                               scenarios::report::size_word(scenario) + ", " +
                                               std::to_string(scenario.gpus) + " GPUs, " + machine.name,
                                           schedules);
}

/// Of all schedules of the answer its losses too, unless the whole space was walked.
study::AnswerReport answer_report(const Options& options, const study::Exploration& exploration,
                                  const Scenario& scenario, const Machine& machine, study::Widths widths,
                                  std::optional<Grade> grade, std::optional<Trace> measured) {
  study::AnswerReport report{.exploration = exploration,
                             .scenario = scenario,
                             .widths = std::move(widths),
                             .grade = grade,
                             .leading = leading(exploration, scenario),
                             .runs = {}};
  study::Answer& answer = report.exploration.answers[report.leading];
  if (options.space != "all")
    study::explain({&answer}, machine, sim::simulate, {.all = true}, show_progress("explanations"));
  sim::SimulatedExecutor executor;
  report.runs = study::drawn_runs(answer, machine, executor, [&](const Schedule& schedule, const Machine& on) {
    return executor.observe(schedule, on);
  });
  if (!measured) return report;
  try {
    study::add_measured(report.runs, std::move(*measured));
  } catch (const InputError& error) {
    throw error.field() == "operation" ? error.in_file(options.measured) : error;
  }
  return report;
}

/// All of them or none; the folder is made where it is not there.
void write_settings(const Options& options, const study::Exploration& exploration, const Scenario& scenario,
                    const Machine& machine) {
  std::vector<TextFile> files;
  for (study::SettingsFile& file : settings_of(exploration, scenario, machine))
    files.push_back({std::filesystem::path(options.settings) / file.name, std::move(file.text)});
  std::filesystem::create_directories(options.settings);
  write_text_files(files);
}

/// Before any work is done.
void require_folder(const std::string& path) {
  std::error_code error;
  if (!path.empty() && std::filesystem::exists(path, error) && !std::filesystem::is_directory(path, error))
    throw InputError("--settings", "expected a folder, got the file " + shown_name(path));
}

void run(const Options& options) {
  options.output.require_writable();
  for (const std::string& path : {options.trace, options.schedule, options.svg, options.html}) require_writable(path);
  const std::string page = options.html.empty() ? "" : scenarios::report::read_report_page();
  std::optional<Trace> measured;
  if (!options.measured.empty()) measured = read_trace(options.measured);
  require_folder(options.settings);
  auto [scenario, machine] = read_question(options.question);
  const std::string& profile = options.question.machine.empty() ? scenario.machine : options.question.machine;
  const ProfileGrades grades = read_profile_grades(machine_path(profile));
  study::Exploration exploration = explore(options, scenario, machine, grades);
  study::Widths over_widths = widths(options, scenario, exploration, machine);
  const scenarios::report::ExplorationView view{
      .crossovers = scenario.model ? over_widths.crossovers : std::vector<study::Crossover>{},
      .evidence = study::evidence_of_advice(exploration, scenario, machine, grades),
      .is_full = options.all || options.space == "all",
      .shown = options.space == "all" ? scenario.sizes.back() : 0,
      .is_wide = options.output.is_wide()};
  explain(options, view, exploration, scenario, machine);
  study::Answer& winner = exploration.answers[leading(exploration, scenario)];
  const std::string picture = options.svg.empty() ? "" : picture_of(winner, options, scenario, machine);
  report::Report report = scenarios::report::exploration_report(exploration, scenario, machine, view);
  std::string html;  // before anything is written: a run that is not of these schedules is refused
  if (!options.html.empty())
    html = scenarios::report::html_report(
        scenarios::report::html_content(answer_report(options, exploration, scenario, machine, std::move(over_widths),
                                                      view.evidence.grade, std::move(measured)),
                                        machine, report, machine_path(profile)),
        page);
  const bool writes_fastest = !options.trace.empty() || !options.schedule.empty();
  if (writes_fastest) write_fastest(options, winner, machine);
  if (!options.svg.empty()) write_text_file(options.svg, picture);
  if (!options.html.empty()) write_text_file(options.html, html);
  if (!options.settings.empty()) write_settings(options, exploration, scenario, machine);
  if (writes_fastest)
    report.notes.push_back("Written: " + winner.ranking.fastest().request.id + " (" + winner.pair + ", " +
                           std::to_string(winner.size) + " " + scenarios::report::size_word(scenario) + ").");
  options.output.write(report);
}

}  // namespace

void add_explore_command(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("explore", "Does overlap pay for a model or a shape, by which schedule, from which size on?");
  auto options = std::make_shared<Options>();
  reads(
      command->add_option("MODEL", options->question.what,
                          "A model's config.json or its folder, a scenario file (weft.scenario/1), or words: \"m=4096 "
                          "n=8192 k=3584 op=gemm+all_reduce\""))
      ->required();
  reads_machine(command->add_option("--machine", options->question.machine,
                                    "Name or path of a machine profile (default: the scenario's, where it names one)"));
  command
      ->add_option("--gpus", options->question.gpus,
                   "Tensor-parallel over so many GPUs (default: the scenario's, else all of the machine)")
      ->check(CLI::Range(scenarios::gpu_counts.least, scenarios::gpu_counts.most));
  command
      ->add_option("--tokens", options->question.sizes,
                   "Tokens, or rows, to ask about (default: the scenario's, else 512, 1024, … 16384)")
      ->delimiter(',')
      ->check(CLI::Range(std::int64_t{1}, scenarios::max_extent));
  command
      ->add_option("--sequences", options->question.sequences,
                   "Sequences that the tokens belong to (default: the scenario's, else one); without --tokens each has "
                   "one new token, a step of decoding")
      ->check(CLI::Range(std::int64_t{1}, scenarios::max_extent));
  command
      ->add_option(
          "--prefix", options->question.prefix,
          "Earlier tokens of each sequence, whose keys and values are cached (default: the scenario's, else none)")
      ->check(CLI::Range(std::int64_t{0}, scenarios::max_extent));
  command->add_option("--size", options->size, "Ask about this size alone (default: about all)");
  command->add_flag("--all", options->all, "Show all schedules of every pair and size, with the names that cases have");
  command->add_flag("--careful", options->careful,
                    "Advise what is fastest in the worst of twenty cases (default: the least expected regret)");
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
  CLI::Option* html = writes(command->add_option(
      "--html", options->html, "Write a page with curves, ranking, lanes and sources that needs no other file"));
  reads(command->add_option("--measured", options->measured,
                            "With --html: spans of the fastest schedule or of serial, by weft run, shown beside them"))
      ->needs(html);
  command
      ->add_option("--settings", options->settings,
                   "Write what vLLM, SGLang, PyTorch, NCCL and others have to be told into this folder")
      ->type_name("FOLDER");
  writes(
      command->add_option("--trace", options->trace, "Write the trace of the schedule that saves most, for Perfetto"));
  writes(command->add_option("--schedule", options->schedule, "Write the schedule that saves most, for weft run"));
  command->callback([options] { run(*options); });
}

}  // namespace weft::tools::commands
