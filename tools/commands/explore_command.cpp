// weft explore: which schedule wins, by how much, why the others lose, and what it means for the layer.
#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "models/base/text.hpp"
#include "models/base/text_file.hpp"
#include "models/check/schedule_file.hpp"
#include "models/execution/perfetto.hpp"
#include "models/execution/trace_json.hpp"
#include "scenarios/library/full_answer.hpp"
#include "scenarios/library/question.hpp"
#include "scenarios/report/html_report.hpp"
#include "scenarios/study/settings.hpp"
#include "tools/commands/command.hpp"
#include "tools/commands/numbers.hpp"

namespace weft::tools::commands {
namespace {

using scenarios::library::FullAnswer;

struct ExploreOptions {
  scenarios::library::AskedQuestion question;
  std::string trace, schedule, settings, svg, html, measured, space = "likely";
  scenarios::library::AnswerOptions answer;
  bool careful = false;
  Output output;
};

/// Errors name the field as the scenario's file has it, or the option.
InputError as_asked(const InputError& error, const ExploreOptions& options, const scenarios::Scenario& scenario) {
  if (error.field() == "schedule") return InputError("--why", error.expected());
  if (error.field() == "size") return InputError("--size", error.expected());
  const InputError written = scenarios::as_written(error, scenario);
  return is_given(written.field(), options.question) ? written : written.in_file(options.question.what);
}

/// What a command line gives is called by its option.
InputError by_option(const InputError& error, const scenarios::library::AskedQuestion& question) {
  if (!is_given(error.field(), question)) return error;
  std::string option = error.field() == "m" ? "tokens" : error.field();
  std::ranges::replace(option, '_', '-');
  return InputError("--" + option, error.expected());
}

FullAnswer answer_of_question(const ExploreOptions& options) {
  auto [scenario, profile] = scenarios::library::read_question(options.question);
  try {
    return {scenario, profile, options.answer};
  } catch (const InputError& error) {
    throw as_asked(error, options, scenario);
  }
}

FullAnswer answer_of(const ExploreOptions& options) {
  try {
    return answer_of_question(options);
  } catch (const InputError& error) {
    throw by_option(error, options.question);
  }
}

/// A run that is not of these schedules is refused.
std::string page_of(const FullAnswer& answer, const ExploreOptions& options, const std::string& empty_page,
                    std::optional<Trace> measured) {
  try {
    return answer.page(empty_page, std::move(measured));
  } catch (const InputError& error) {
    throw error.field() == "operation" ? error.in_file(options.measured) : error;
  }
}

/// All of them or none, in place of those of an earlier answer. Says which.
std::string write_settings(const std::filesystem::path& folder, const FullAnswer& answer) {
  std::vector<TextFile> files;
  std::string names;
  for (auto& file : answer.settings()) {
    names += (names.empty() ? "" : ", ") + file.name;
    files.push_back({folder / file.name, std::move(file.text)});
  }
  make_folder(folder);
  const std::vector<std::string> before = study::settings_of_before(folder);
  write_text_files(files);
  for (const std::string& name : before)
    if (std::ranges::none_of(files, [&](const TextFile& file) { return file.path == folder / name; }))
      remove_file(folder / std::filesystem::path(name).filename());
  return "Settings: " + names + ".";
}

void run_explore(ExploreOptions options) {
  options.output.require_writable();
  for (const std::string& path : {options.trace, options.schedule, options.svg, options.html}) require_writable(path);
  const std::string empty_page = options.html.empty() ? "" : scenarios::report::read_report_page("--html");
  std::optional<Trace> measured;
  if (!options.measured.empty()) measured = read_trace(options.measured);
  options.answer.space = from_name<scenarios::library::Space>(options.space, "--space");
  if (options.careful) options.answer.rule = scenarios::Rule::careful;
  options.answer.has_losses = options.output.has_json() || !options.html.empty();
  options.answer.has_all_losses = !options.svg.empty();
  options.answer.has_gains = !options.html.empty();
  options.answer.is_wide = options.output.is_wide();
  options.answer.show_progress = show_progress;
  const FullAnswer answer = answer_of(options);
  const std::string picture = options.svg.empty() ? "" : answer.losses_picture();
  const std::string page = options.html.empty() ? "" : page_of(answer, options, empty_page, std::move(measured));
  report::Report report = answer.report();
  if (!options.schedule.empty()) write_checked(options.schedule, answer.winning_schedule());
  if (!options.trace.empty()) write_perfetto(options.trace, {answer.winning_run()});
  if (!options.svg.empty()) write_text_file(options.svg, picture);
  if (!options.html.empty()) write_text_file(options.html, page);
  if (!options.settings.empty()) report.notes.push_back(write_settings(options.settings, answer));
  if (!options.trace.empty() || !options.schedule.empty())
    report.notes.push_back("Written: " + answer.winner_in_words() + ".");
  options.output.write(report);
}

}  // namespace

void add_explore_command(CLI::App& app) {
  auto [command, options] = add_command(
      app, "explore", "Does overlap pay for a model or a shape, by which schedule, from which size on?", run_explore);
  reads(command.add_option("MODEL", options.question.what,
                           "A model's config.json or its folder, a scenario file (weft.scenario/1), or words: \"m=4096 "
                           "n=8192 k=3584 op=gemm+all_reduce\""))
      ->required();
  reads_machine(command.add_option("--machine", options.question.machine,
                                   "Name or path of a machine profile (default: the scenario's, where it names one)"));
  command
      .add_option("--gpus", options.question.gpus,
                  "Tensor-parallel over so many GPUs (default: the scenario's, else all of the machine)")
      ->check(numbers(scenarios::gpu_counts.least, scenarios::gpu_counts.most));
  command
      .add_option("--tokens", options.question.sizes,
                  "Tokens, or rows, to ask about (default: the scenario's, else 512, 1024, … 16384)")
      ->delimiter(',')
      ->check(numbers(std::int64_t{1}, scenarios::max_extent));
  const auto add_count = [&](const std::string& name, std::optional<std::int64_t>& value, std::int64_t least,
                             const std::string& meaning) {
    command.add_option(name, value, meaning)->check(numbers(least, scenarios::max_extent));
  };
  scenarios::AskedSequences& step = options.question.step;
  add_count(
      "--sequences", step.sequences, 1,
      "Sequences that the tokens belong to (default: the scenario's, else one); without --tokens each has one new "
      "token, a step of decoding");
  add_count("--prefix", step.prefix, 0,
            "Earlier tokens of each sequence, whose keys and values are cached (default: the scenario's, else none)");
  add_count(
      "--decoding", step.decoding, 0,
      "Of the tokens, the new ones of sequences that decode beside the others, one each (default: the scenario's, "
      "else none)");
  add_count("--decoding-prefix", step.decoding_prefix, 0,
            "Earlier tokens of each sequence that decodes (default: the scenario's, else none)");
  command.add_option("--size", options.answer.size, "Ask about this size alone (default: about all)");
  command.add_flag("--all", options.answer.shows_all,
                   "Show all schedules of every pair and size, with the names that cases have");
  command.add_flag("--careful", options.careful,
                   "Advise what is fastest in the worst of twenty cases (default: the least expected regret)");
  command.add_option("--why", options.answer.why,
                     "Say what this schedule loses time to, as for the winner and serial; or all of them");
  writes(command.add_option("--svg", options.svg,
                            "Draw where the time goes under each schedule of the pair that gains most"));
  command
      .add_option("--space", options.space,
                  "likely: the families, and the hybrids that an estimate likes best; named: the families alone; all: "
                  "every sensible hybrid too, at one size")
      ->check(CLI::IsMember({"likely", "named", "all"}));
  options.output.add_to(command, "Write everything as one JSON object");
  CLI::Option* html = writes(command.add_option(
      "--html", options.html, "Write a page with curves, ranking, lanes and sources that needs no other file"));
  reads(command.add_option("--measured", options.measured,
                           "With --html: spans of the fastest schedule or of serial, by weft run, shown beside them"))
      ->needs(html);
  writes_into(command.add_option("--settings", options.settings,
                                 "Write what vLLM, SGLang, PyTorch, NCCL and others have to be told into this folder"));
  writes(command.add_option("--trace", options.trace, "Write the trace of what is advised, for Perfetto"));
  writes(command.add_option("--schedule", options.schedule, "Write what is advised as a schedule, for weft run"));
}

}  // namespace weft::tools::commands
