#include "tools/report/verdict_report.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "models/base/text.hpp"
#include "scenarios/schedule_words.hpp"
#include "scenarios/study/exploration_json.hpp"
#include "scenarios/study/odds.hpp"
#include "tools/report/exploration_report.hpp"

namespace weft::tools::report {
namespace {

using scenarios::Scenario;

constexpr std::size_t most_lines = 10;           // of the short ranking
constexpr double nearly = 0.02;                  // schedules of a kind that are so much slower go on its line
constexpr std::int64_t least_shown_ps = 50'000;  // 0.05 us: 0.1 in the table

std::string share(double value) { return fixed(100 * value, 1) + " %"; }
std::string ms(double time_us) { return fixed(time_us * 1e-3, time_us < 1e4 ? 3 : time_us < 1e5 ? 2 : 1) + " ms"; }

std::string first_words(const study::Verdict& verdict, const Scenario& scenario) {
  const std::string unit = " " + size_word(scenario);
  if (verdict.pays_from && *verdict.pays_from == verdict.sizes.front().size && verdict.sizes.size() > 1)
    return "Overlap pays at every size from " + std::to_string(*verdict.pays_from) + unit + " on.";
  if (verdict.pays_from)
    return verdict.sizes.size() > 1 ? "Overlap pays from " + std::to_string(*verdict.pays_from) + unit + " on."
                                    : "Overlap pays.";
  if (std::ranges::none_of(verdict.sizes, &study::SizePlans::pays)) return "Overlap does not pay: stay with serial.";
  return "Overlap does not pay at " + std::to_string(verdict.largest().size) + unit + ", only below.";
}

std::string what(const study::Verdict& verdict, const Scenario& scenario) {
  if (verdict.is_of_layers) return "a layer";
  return scenario.model ? "the pairs of a layer" : "it";
}

/// "a layer in 7.500 ms instead of 8.910 ms (-15.8 %), all 80 layers in 600.0 ms instead of 712.8 ms".
std::string times(const study::Verdict& verdict, const study::Plan& plan, const study::Plan& baseline,
                  const Scenario& scenario) {
  std::string text = what(verdict, scenario) + " in " + ms(plan.time_us) + " instead of " + ms(baseline.time_us) +
                     " (" + signed_percent(plan.time_us / baseline.time_us - 1) + ")";
  if (!verdict.is_of_layers) return text;
  const auto layers = static_cast<double>(verdict.layers);
  return text + ", the prefill's " + std::to_string(verdict.layers) + " layers in " + ms(plan.time_us * layers) +
         " instead of " + ms(baseline.time_us * layers);
}

/// The schedules of a plan, each with the pairs that have it: "async TP (qkv projection, …)".
std::string schedules_of(const study::Plan& plan) {
  std::vector<std::string> order;
  std::map<std::string, std::string> pairs;
  for (const auto& [pair, candidate] : plan.schedules) {
    const std::string words = scenarios::words_of(candidate->request.schedule);
    if (!pairs.contains(words)) order.push_back(words);
    std::string& names = pairs[words];
    names += (names.empty() ? "" : ", ") + pair.substr(0, pair.find(','));
  }
  std::string text;
  for (const std::string& words : order)
    text += (text.empty() ? "" : "; ") + words + (pairs[words].empty() ? "" : " (" + pairs[words] + ")");
  return text;
}

std::string software_of(const study::Plan& plan) {
  std::set<std::string> names;
  for (const auto& [pair, candidate] : plan.schedules) {
    const std::string other = scenarios::other_software(candidate->request.schedule);
    names.insert(other.empty() ? "weft run (" + kind_of(candidate->request.schedule) + ")" : other);
  }
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::string odds_of(const scenarios::Odds& odds) {
  return fixed(100 * odds.faster, 0) + " % to be faster; " + share(odds.gain) + " gain expected, " +
         share(odds.worst_gain) + " in the worst of twenty cases";
}

/// Of the largest size where overlap pays.
const study::SizePlans* example(const study::Verdict& verdict) {
  const auto found =
      std::find_if(verdict.sizes.rbegin(), verdict.sizes.rend(), [](const auto& one) { return one.pays(); });
  return found == verdict.sizes.rend() ? nullptr : &*found;
}

void add_gain(const study::Verdict& verdict, const study::SizePlans& plans, const Scenario& scenario,
              const Machine& machine, std::vector<std::string>& notes) {
  notes.push_back("At " + std::to_string(plans.size) + " " + size_word(scenario) + ": " + plans.best.name + ": " +
                  times(verdict, plans.best, plans.baseline, scenario) + ".");
  notes.push_back("How: " + schedules_of(plans.best) + ". Against: " + plans.baseline.name + "." +
                  (verdict.is_of_layers && plans.best.schedules.front().first != ""
                       ? " Savings of pairs are summed; whole layers were measured to gain less."
                       : ""));
  notes.push_back("Odds: " + odds_of(plans.best.odds) +
                  (study::is_measured(machine) ? "." : "; widened, since this machine was not measured."));
  if (!plans.runnable)
    notes.push_back("Runs today: this very plan, by " + software_of(plans.best) + ".");
  else if (plans.runnable->schedules.empty())
    notes.emplace_back("Runs today: nothing of it.");
  else
    notes.push_back("Runs today: " + plans.runnable->name + ", " + schedules_of(*plans.runnable) + ": " +
                    signed_percent(plans.runnable->time_us / plans.baseline.time_us - 1) + ", " +
                    fixed(100 * plans.runnable->odds.faster, 0) + " % to be faster; by " +
                    software_of(*plans.runnable) + ".");
}

std::string memory_of(const study::MemoryNeed& memory) {
  return "Memory of a GPU: " + fixed(memory.total_GB(), 1) + " GB (" + fixed(memory.weights_GB, 1) +
         " of the layers' weights, " + fixed(memory.keys_values_GB, 1) + " of keys and values, " +
         fixed(memory.activations_GB, 1) + " of one layer's activations).";
}

/// Of the kinds of schedules, the fastest of each, and how many others of it are nearly as fast.
struct Line {
  const study::Explored* one;
  std::size_t alike = 0;
};

std::vector<Line> lines_of(const study::Answer& answer) {
  std::vector<Line> lines;
  std::map<std::string, std::size_t> of_kind;
  for (const study::Explored& one : answer.fastest_first) {
    const auto [known, is_new] = of_kind.try_emplace(kind_of(one.candidate.request.schedule), lines.size());
    if (is_new) {
      lines.push_back({&one});
      continue;
    }
    Line& line = lines[known->second];
    if (one.candidate.estimate.time_us <= line.one->candidate.estimate.time_us * (1 + nearly)) ++line.alike;
  }
  return lines;
}

/// The first lines, with serial in place of the last where it comes later.
void keep_first(std::vector<Line>& lines) {
  if (lines.size() <= most_lines) return;
  const auto is_serial = [](const Line& line) {
    return std::holds_alternative<scenarios::Serial>(line.one->candidate.request.schedule.family);
  };
  const auto serial = std::ranges::find_if(lines, is_serial);
  if (serial - lines.begin() >= static_cast<std::ptrdiff_t>(most_lines)) lines[most_lines - 1] = *serial;
  lines.resize(most_lines);
}

}  // namespace

Section verdict_section(const study::Verdict& verdict, const study::Exploration& exploration, const Scenario& scenario,
                        const Machine& machine) {
  Section section{"", {{}, {}}, {first_words(verdict, scenario)}};
  if (const study::SizePlans* plans = example(verdict)) {
    add_gain(verdict, *plans, scenario, machine, section.notes);
  } else {
    const scenarios::Candidate& fastest = exploration.answers[exploration.most_gained()].ranking.fastest();
    if (!std::holds_alternative<scenarios::Serial>(fastest.request.schedule.family))
      section.notes.push_back("The nearest to a gain: " + scenarios::words_of(fastest.request.schedule) + ", " +
                              odds_of(fastest.odds) + ".");
  }
  if (verdict.memory) section.notes.push_back(memory_of(*verdict.memory));
  if (scenario.model && !scenario.model->ignored.empty()) {
    std::string text;
    for (const std::string& one : scenario.model->ignored) text += (text.empty() ? "" : "; ") + one;
    section.notes.push_back("Not counted: " + text + ".");
  }
  return section;
}

Section crossover_section(const std::vector<study::Crossover>& crossovers, const Scenario& scenario) {
  Section section{"Overlap pays from so many " + size_word(scenario) + " on", {{"pattern"}, {}}, {}};
  std::vector<int> counts;
  std::vector<std::string> patterns;
  std::map<std::pair<std::string, int>, std::string> cells;
  for (const study::Crossover& one : crossovers) {
    if (std::ranges::find(counts, one.gpus) == counts.end()) counts.push_back(one.gpus);
    if (std::ranges::find(patterns, one.pattern) == patterns.end()) patterns.push_back(one.pattern);
    cells[{one.pattern, one.gpus}] = !one.reason.empty() ? "-"
                                     : one.pays_from     ? std::to_string(*one.pays_from)
                                                         : "never";
  }
  for (const int gpus : counts) section.table.columns.emplace_back(std::to_string(gpus) + " GPUs");
  for (const std::string& pattern : patterns) {
    std::vector<Cell>& row = section.table.rows.emplace_back();
    row.emplace_back(pattern);
    for (const int gpus : counts) row.emplace_back(cells.contains({pattern, gpus}) ? cells[{pattern, gpus}] : "-");
  }
  return section;
}

Section short_ranking(const study::Answer& answer, const Scenario& scenario) {
  Section section{answer.pair + ", " + std::to_string(answer.size) + " " + size_word(scenario) + ", " +
                      std::to_string(scenario.gpus) + " GPUs",
                  {{"schedule", "us", "speedup", "faster with", "expected", droppable("worst of 20", 2),
                    droppable("limited by", 1), "weft run"},
                   {}},
                  {verdict(answer)}};
  std::vector<Line> lines = lines_of(answer);
  keep_first(lines);
  for (const auto& [one, alike] : lines) {
    const scenarios::Candidate& candidate = one->candidate;
    const bool is_serial = std::holds_alternative<scenarios::Serial>(candidate.request.schedule.family);
    const auto of_odds = [&](double value, int decimals) {
      return is_serial ? Cell("-") : Cell(Number{100 * value, decimals, " %"});
    };
    section.table.rows.push_back(
        {words_of(candidate.request.schedule) + (alike > 0 ? " (+ " + std::to_string(alike) + " like it)" : ""),
         Number{candidate.estimate.time_us, 1}, ratio(candidate.speedup), of_odds(candidate.odds.faster, 0),
         of_odds(candidate.odds.gain, 1), of_odds(candidate.odds.worst_gain, 1), std::string(name_of(one->limited_by)),
         one->runnable ? "yes" : "no"});
  }
  return section;
}

Section short_losses(const study::Answer& answer) {
  std::vector<const study::Explored*> explained;
  for (const study::Explored& one : answer.fastest_first)
    if (one.losses) explained.push_back(&one);
  Section section{"Where the time goes, in us", {{""}, {}}, {}};
  const auto add_row = [&](const std::string& name, const auto& value_ps) {
    std::vector<Cell>& row = section.table.rows.emplace_back();
    row.emplace_back(name);
    for (const study::Explored* one : explained)
      row.emplace_back(Number{static_cast<double>(value_ps(*one)) * 1e-6, 1});
  };
  for (const study::Explored* one : explained)
    section.table.columns.emplace_back(words_of(one->candidate.request.schedule));
  add_row("perfect overlap", [](const study::Explored& one) { return one.losses->overlap_ps; });
  for (const auto& [cause, name] : NamesOf<study::Cause>::names) {
    const auto value = [cause = cause](const study::Explored& one) { return one.losses->of(cause); };
    if (std::ranges::any_of(explained, [&](const auto* one) { return std::abs(value(*one)) >= least_shown_ps; }))
      add_row("+ " + std::string(text_of(cause)), value);
  }
  add_row("= time", [](const study::Explored& one) { return one.losses->time_ps; });
  return section;
}

}  // namespace weft::tools::report
