#include "scenarios/library/full_answer.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "scenarios/report/exploration_report.hpp"
#include "scenarios/report/html_report.hpp"
#include "scenarios/report/losses_picture.hpp"
#include "scenarios/study/answer_report.hpp"
#include "scenarios/study/explanation.hpp"
#include "scenarios/study/verdict.hpp"
#include "sim/simulated_executor.hpp"

namespace weft::scenarios::library {
namespace {

Progress progress_of(const AnswerOptions& options, const std::string& what) {
  return options.show_progress ? options.show_progress(what) : Progress();
}

}  // namespace

FullAnswer::FullAnswer(Scenario scenario, std::shared_ptr<const OpenProfile> profile, AnswerOptions options)
    : scenario_(std::move(scenario)), profile_(std::move(profile)), options_(std::move(options)) {
  study::require_gpus(scenario_.gpus, machine());
  if (options_.size != 0 || is_whole_space())
    scenario_ = study::only_size(scenario_, options_.size != 0 ? options_.size : scenario_.sizes.back());
  if (is_whole_space()) scenario_ = study::with_whole_space(scenario_, machine());
  explore();
  evidence_ = study::evidence_of_advice(exploration_, scenario_, machine(), profile_->grades);
  explain();
}

void FullAnswer::explore() {
  sim::SimulatedExecutor executor(sim::times_only);
  exploration_ =
      study::explore(scenario_, machine(), executor,
                     {.least_schedules = options_.space == Space::likely ? study::worth_looking_at(scenario_) : 0,
                      .also = options_.why == "all" ? "" : options_.why,
                      .rule = options_.rule,
                      .grades = profile_->grades,
                      .progress = progress_of(options_, "schedules")});
  leading_ = study::leading_answer(verdict_of(exploration_, scenario_), exploration_);
  if (options_.has_gains)
    widths_ = over_widths(scenario_, exploration_, machine(), executor, options_.rule);
  else if (scenario_.model)  // whose number of GPUs is a choice
    widths_.crossovers = crossovers(scenario_, exploration_, machine(), executor, options_.rule);
}

void FullAnswer::explain() {
  std::vector<study::Answer*> answers;
  for (study::Answer& answer : exploration_.answers)
    if (shows_all() || options_.has_losses || &answer == &leading()) answers.push_back(&answer);
  const bool all = options_.why == "all";
  study::explain(answers, machine(), sim::simulate, {all, all ? "" : options_.why},
                 progress_of(options_, "explanations"));
  if (options_.has_all_losses) exploration_.answers[leading_] = with_all_losses();
}

study::Answer FullAnswer::with_all_losses() const {
  study::Answer answer = leading();
  if (!is_whole_space())
    study::explain({&answer}, machine(), sim::simulate, {.all = true}, progress_of(options_, "explanations"));
  return answer;
}

std::string FullAnswer::leading_in_words() const { return in_words(leading()); }

std::string FullAnswer::in_words(const study::Answer& answer) const {
  return answer.pair + ", " + std::to_string(answer.size) + " " + report::size_word(scenario_);
}

weft::report::Report FullAnswer::report() const {
  return report::exploration_report(
      exploration_, scenario_, machine(),
      {.crossovers = scenario_.model ? widths_.crossovers : std::vector<study::Crossover>{},
       .evidence = evidence_,
       .is_full = shows_all(),
       .shown = is_whole_space() ? scenario_.sizes.back() : 0,
       .is_wide = options_.is_wide});
}

std::string FullAnswer::losses_picture() const {
  std::vector<study::NamedLosses> schedules;
  for (const study::Explored& one : with_all_losses().fastest_first)
    if (one.losses) schedules.push_back({one.candidate.request.id, *one.losses});
  return report::losses_picture(leading_in_words() + ", " + std::to_string(scenario_.gpus) + " GPUs, " + machine().name,
                                schedules);
}

std::string FullAnswer::page(std::string_view empty_page, std::optional<Trace> measured) const {
  sim::SimulatedExecutor executor(sim::times_only);
  study::AnswerReport answer{
      .exploration = exploration_,
      .scenario = scenario_,
      .widths = options_.has_gains ? widths_ : over_widths(scenario_, exploration_, machine(), executor, options_.rule),
      .evidence = evidence_,
      .leading = leading_,
      .runs = {}};
  answer.exploration.answers[leading_] = with_all_losses();
  sim::SimulatedExecutor with_spans;
  answer.runs = study::drawn_runs(leading(), machine(), with_spans, [&](const Schedule& schedule, const Machine& on) {
    return with_spans.observe(schedule, on);
  });
  if (measured) study::add_measured(answer.runs, std::move(*measured));
  return report::html_report(report::html_content(answer, machine(), report(), profile_->path), empty_page);
}

std::vector<study::SettingsFile> FullAnswer::settings() const {
  return settings_of(exploration_, scenario_, machine(), evidence_.grade);
}

std::string FullAnswer::winner_in_words() const {
  const auto [answer, schedule] = winner();
  return schedule->candidate.request.id + " (" + in_words(*answer) + ")";
}

Schedule FullAnswer::winning_schedule() const {
  sim::SimulatedExecutor executor;
  Schedule schedule =
      study::predict(winner().schedule->candidate.request, machine(), executor, {.serial = false}).schedule;
  schedule.machine = machine().name;
  return schedule;
}

Timeline FullAnswer::winning_run() const {
  sim::SimulatedExecutor executor;
  const Case& asked = winner().schedule->candidate.request;
  const Schedule schedule = study::predict(asked, machine(), executor, {.serial = false}).schedule;
  return executor.observe(schedule, study::machine_for(asked, machine(), executor));
}

}  // namespace weft::scenarios::library
