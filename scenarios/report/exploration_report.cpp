#include "scenarios/report/exploration_report.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "models/base/text.hpp"
#include "scenarios/report/losses_table.hpp"
#include "scenarios/report/verdict_report.hpp"
#include "scenarios/schedule_words.hpp"
#include "scenarios/study/exploration_json.hpp"
#include "scenarios/study/ficco_choice.hpp"

namespace weft::scenarios::report {

using namespace weft::report;

namespace {

using scenarios::Scenario;

constexpr std::size_t most_rows = 40;  // of a ranking, besides those with losses

Number us(double time_us) { return {time_us, 1}; }
Number us_of_ps(std::int64_t ps) { return us(static_cast<double>(ps) * 1e-6); }
std::string times_over_serial(const study::Explored& one) {
  return one.candidate.request.id + ", " + text_of(ratio(one.candidate.speedup)) + " over serial.";
}

/// The verdict, the fastest with a name where the winner has none, and the fastest that weft run accepts.
std::vector<std::string> sentences(const study::Answer& answer) {
  std::vector<std::string> all{verdict(answer)};
  const study::Explored *named = answer.fastest_named(), *runnable = answer.fastest_runnable();
  if (named != nullptr && named != &answer.fastest())
    all.push_back("The fastest of the named families: " + times_over_serial(*named));
  if (runnable == nullptr)
    all.emplace_back("weft run can run none of them yet.");
  else if (!answer.fastest().runnable)
    all.push_back("The fastest that weft run can run today: " + times_over_serial(*runnable));
  return all;
}

Section ranking_of(const study::Answer& answer, const Scenario& scenario) {
  Section section{answer.pair + ", " + std::to_string(answer.size) + " " + size_word(scenario) + ", " +
                      std::to_string(scenario.gpus) + " GPUs",
                  {{"schedule", "us", droppable("90 % interval", 4), "speedup", droppable("of bound", 2),
                    droppable("limited by", 3), droppable("weft run", 1), droppable("lost most to", 5)},
                   {}},
                  {}};
  std::size_t left_out = 0, rows = 0;
  for (const study::Explored& one : answer.fastest_first) {
    if (++rows > most_rows && !one.losses) {
      ++left_out;
      continue;
    }
    const scenarios::Estimate& estimate = one.candidate.estimate;
    section.table.rows.push_back({one.candidate.request.id + mark_of(one.candidate), us(estimate.time_us),
                                  Interval{estimate.low_us, estimate.high_us}, ratio(one.candidate.speedup),
                                  percent(one.bound_us / estimate.time_us), std::string(name_of(one.limited_by)),
                                  one.runnable ? "yes" : "no", one.losses ? why(*one.losses) : ""});
  }
  if (answer.stuck > 0) section.notes.push_back(std::to_string(answer.stuck) + " hybrids get stuck on this machine.");
  if (left_out > 0) section.notes.push_back(std::to_string(left_out) + " more are in --json.");
  for (const std::string& sentence : sentences(answer)) section.notes.push_back(sentence);
  return section;
}

/// One row for each schedule that was explained; causes that cost none of them anything are left out, and on a narrow
/// terminal those that cost least.
Section losses_of(const study::Answer& answer) {
  std::vector<const study::Explored*> explained;
  for (const study::Explored& one : answer.fastest_first)
    if (one.losses) explained.push_back(&one);
  std::vector<std::pair<std::int64_t, study::Cause>> largest;  // with what the cause costs at most
  for (const auto& [cause, name] : NamesOf<study::Cause>::names) {
    std::int64_t most_ps = 0;
    for (const study::Explored* one : explained) most_ps = std::max(most_ps, std::abs(one->losses->of(cause)));
    if (most_ps >= least_shown_ps) largest.emplace_back(most_ps, cause);
  }
  Section section{"", {{"us", {"perfect overlap", static_cast<int>(largest.size())}, "lost"}, {}}, {}};
  for (const auto& [most_ps, cause] : largest) {
    const auto less = std::count_if(largest.begin(), largest.end(),
                                    [&, ps = most_ps](const auto& other) { return other.first < ps; });
    section.table.columns.emplace_back(std::string(text_of(cause)), static_cast<int>(less));
  }
  for (const study::Explored* one : explained) {
    std::vector<Cell>& row = section.table.rows.emplace_back();
    row = {one->candidate.request.id, us_of_ps(one->losses->overlap_ps), us_of_ps(one->losses->whole_ps())};
    for (const auto& [most_ps, cause] : largest) row.push_back(us_of_ps(one->losses->of(cause)));
  }
  return section;
}

std::string sentence(const study::FiccoChoice& choice) {
  const std::string rule = "FiCCO's rule chooses " + describe(choice.rule);
  if (choice.by_rule == nullptr) return rule + ", which these sizes do not have.";
  if (choice.by_rule == choice.fastest) return rule + ", as the simulator does.";
  const double slower = choice.by_rule->candidate.estimate.time_us / choice.fastest->candidate.estimate.time_us;
  return rule + "; the simulator's choice, " + choice.fastest->candidate.request.id + ", is " + text_of(ratio(slower)) +
         " as fast.";
}

Section ficco_of(const study::Answer& answer, const study::FiccoChoice& choice) {
  Section section{"What FiCCO's schedules lose by decomposition (DIL) and contention (CIL); 1 is no loss:",
                  {{"schedule", "us", "GEMM DIL", "GEMM CIL", "transfer DIL", "transfer CIL"}, {}},
                  {sentence(choice)}};
  for (const study::Explored& one : answer.fastest_first)
    if (const auto& losses = one.inefficiency)
      section.table.rows.push_back({one.candidate.request.id, us(one.candidate.estimate.time_us),
                                    Number{losses->gemm_dil, 3}, Number{losses->gemm_cil, 3},
                                    Number{losses->transfer_dil, 3}, Number{losses->transfer_cil, 3}});
  return section;
}

std::string advice(const scenarios::Ranking& ranking) {
  return ranking.overlap_pays() ? scenarios::words_of(ranking.advice().request.schedule) : "serial";
}

/// One row a size: what is advised, and from which size on overlap pays.
Section sizes_of(const std::string& pair, const study::Exploration& exploration, const Scenario& scenario,
                 Grade grade) {
  Section section{
      pair + (grade == Grade::assumed ? ", by assumed numbers" : ""),
      {{size_word(scenario), droppable("serial us", 1), droppable("advised us", 2), "speedup", "faster with", "advice"},
       {}},
      {}};
  std::vector<scenarios::SizeVerdict> verdicts;
  for (const study::Answer& answer : exploration.answers) {
    if (answer.pair != pair) continue;
    const scenarios::Ranking& ranking = answer.ranking;
    const scenarios::Candidate& advised = ranking.advice();
    section.table.rows.push_back({count(answer.size), us(ranking.reference().estimate.time_us),
                                  us(advised.estimate.time_us), ratio(advised.speedup),
                                  ranking.overlap_pays() ? Cell(percent(advised.odds.faster)) : Cell("-"),
                                  advice(ranking)});
    verdicts.push_back({answer.size, ranking.overlaps()});
  }
  if (verdicts.size() < 2) return section;
  const auto from = scenarios::crossover(verdicts);
  section.notes.push_back(from ? "Overlap pays from " + std::to_string(*from) + " " + size_word(scenario) + " on."
                               : "Overlap does not pay at the largest size.");
  return section;
}

Section layers_of(const study::Exploration& exploration) {
  Section section{"Whole layer", {{"tokens", "form", "serial us", "with the advised pairs us", "speedup"}, {}}, {}};
  for (const study::LayerAnswer& layer : exploration.layers) {
    const double overlapped_us = layer.serial_us - layer.saved_us;
    section.table.rows.push_back({count(layer.size), std::string(scenarios::words_of(layer.form)), us(layer.serial_us),
                                  us(overlapped_us), ratio(layer.serial_us / overlapped_us)});
  }
  return section;
}

/// For programs that read CSV: a row for each schedule of each pair and size.
Table rows_of(const study::Exploration& exploration, const Scenario& scenario) {
  Table table{{size_word(scenario), "gpus", "pair", "schedule", "time_us", "low_us", "high_us", "speedup",
               "faster_with_percent", "expected_gain_percent", "limited_by", "weft_run", "why_not"},
              {}};
  for (const study::Answer& answer : exploration.answers)
    for (const study::Explored& one : answer.fastest_first) {
      const auto& [request, estimate, speedup, odds, why_not] = one.candidate;
      table.rows.push_back({count(answer.size), count(scenario.gpus), answer.pair, request.id,
                            Number{estimate.time_us, 3}, Number{estimate.low_us, 3}, Number{estimate.high_us, 3},
                            ratio(speedup), Number{100 * odds.faster, 1}, Number{100 * odds.gain, 1},
                            std::string(name_of(one.limited_by)), one.runnable ? "yes" : "no",
                            why_not == WhyNot::nothing ? "" : std::string(name_of(why_not))});
    }
  return table;
}

void add_all_schedules(const study::Exploration& exploration, const Scenario& scenario, const Machine& machine,
                       std::int64_t shown, Report& report) {
  for (const study::Answer& answer : exploration.answers) {
    if (shown != 0 && answer.size != shown) continue;
    report.sections.push_back(ranking_of(answer, scenario));
    report.sections.push_back(losses_of(answer));
    if (const study::FiccoChoice choice = ficco_choice(answer, machine); choice.fastest != nullptr)
      report.sections.push_back(ficco_of(answer, choice));
  }
}

}  // namespace

std::string mark_of(const scenarios::Candidate& candidate) {
  return candidate.why_not == WhyNot::nothing ? "" : ", " + std::string(name_of(candidate.why_not));
}

std::string size_word(const Scenario& scenario) { return scenario.model ? "tokens" : "rows"; }

Report exploration_report(const study::Exploration& exploration, const Scenario& scenario, const Machine& machine,
                          const ExplorationView& view) {
  constexpr std::size_t most_columns = 100;
  const study::Verdict verdict = verdict_of(exploration, scenario);
  Report report{.columns = view.is_wide || view.is_full ? 0 : most_columns,
                .title = (scenario.name.empty() ? "" : scenario.name + ", ") + std::to_string(scenario.gpus) +
                         " GPUs of " + machine.name,
                .sections = {verdict_section(verdict, exploration, scenario, machine, view.evidence)},
                .notes = not_counted(scenario),
                .document = to_json(exploration, scenario, machine, view.crossovers, view.evidence),
                .rows = rows_of(exploration, scenario)};
  report.notes.push_back(std::to_string(exploration.simulated) + " schedules simulated.");
  if (scenario.model && verdict.sizes.size() > 1)
    report.sections.push_back(plans_section(verdict, scenario, view.evidence.grade));
  if (!view.crossovers.empty()) report.sections.push_back(crossover_section(view.crossovers, scenario));
  if (view.is_full) {
    add_all_schedules(exploration, scenario, machine, view.shown, report);
  } else {
    const study::Answer& answer = exploration.answers[study::leading_answer(verdict, exploration)];
    report.sections.push_back(short_ranking(answer, scenario, view.evidence.grade));
    report.sections.push_back(short_losses(answer));
  }
  if (view.is_full || view.crossovers.empty())
    for (const std::string& pair : exploration.pairs())
      report.sections.push_back(sizes_of(pair, exploration, scenario, view.evidence.grade));
  if (view.is_full && !exploration.layers.empty()) report.sections.push_back(layers_of(exploration));
  if (!view.is_full) report.notes.emplace_back("All schedules with the names of cases: --all; for programs: --json.");
  return report;
}

}  // namespace weft::scenarios::report
