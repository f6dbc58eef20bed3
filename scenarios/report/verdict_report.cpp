#include "scenarios/report/verdict_report.hpp"

#include <algorithm>
#include <map>

#include "models/base/text.hpp"
#include "scenarios/report/exploration_report.hpp"
#include "scenarios/report/losses_table.hpp"
#include "scenarios/schedule_words.hpp"
#include "scenarios/study/exploration_json.hpp"
#include "scenarios/study/odds.hpp"

namespace weft::scenarios::report {

using namespace weft::report;

namespace {

using scenarios::Scenario;

constexpr std::size_t most_lines = 10;  // of the short ranking
constexpr double nearly = 0.02;         // schedules of a kind that are so much slower go on its line

std::string share(double value) { return fixed(100 * value, 1) + " %"; }
/// In ms, to four digits or a tenth.
std::string in_ms(double time_us) { return fixed(time_us * 1e-3, time_us < 1e4 ? 3 : time_us < 1e5 ? 2 : 1); }
std::string change(double before_us, double time_us) { return in_ms(before_us) + " -> " + in_ms(time_us) + " ms"; }

std::string headline(const study::Verdict& verdict, const Scenario& scenario) {
  const study::SizePlans* plans = largest_that_pays(verdict);
  const std::string pays = std::string(verdict.overlaps ? "Overlap pays" : "Faster collectives pay") +
                           (plans != nullptr && plans->best.odds.gain < study::little_gain ? " little" : "");
  const std::string unit = " " + size_word(scenario);
  const std::string against = ", against " + verdict.largest().baseline.name + ".";
  const bool is_of_several = verdict.sizes.size() > 1;
  if (verdict.pays_from && *verdict.pays_from == verdict.sizes.front().size && is_of_several)
    return pays + " at every size from " + std::to_string(*verdict.pays_from) + unit + " on" + against;
  if (verdict.pays_from)
    return pays + (is_of_several ? " from " + std::to_string(*verdict.pays_from) + unit + " on" : "") + against;
  if (!scenario.model && verdict.uncut.size() == verdict.sizes.size())
    return "Nothing overlaps: no schedule fits so many" + unit + ".";
  if (std::ranges::none_of(verdict.sizes, &study::SizePlans::pays)) return "Overlap does not pay: stay with serial.";
  return "Overlap does not pay at " + std::to_string(verdict.largest().size) + unit + ", only below.";
}

/// "8192 tokens".
std::string sized(std::int64_t size, const Scenario& scenario) {
  const std::string word = size_word(scenario);
  return std::to_string(size) + " " + (size == 1 ? word.substr(0, word.size() - 1) : word);
}

/// "layer " of what one takes, and ", 80 layers " of what all take, as `shown` says it.
std::string of_layers(const study::Verdict& verdict, const Scenario& scenario, const auto& shown,
                      const std::string& after_one) {
  const std::string text = (verdict.is_of_layers ? "layer "
                            : scenario.model     ? "a layer's pairs "
                                                 : "") +
                           shown(1) + after_one;
  if (!verdict.is_of_layers) return text;
  return text + ", " + std::to_string(verdict.layers) + " layers " + shown(static_cast<double>(verdict.layers));
}

/// "layer 9.895 -> 7.979 ms (-19.4 %), 80 layers 791.6 -> 638.3 ms".
std::string times(const study::Verdict& verdict, const study::SizePlans& plans, const Scenario& scenario) {
  const double before_us = plans.baseline.time_us, time_us = plans.best.time_us;
  const auto shown = [&](double layers) { return change(before_us * layers, time_us * layers); };
  return of_layers(verdict, scenario, shown, " (" + signed_percent(time_us / before_us - 1) + ")");
}

/// "all-reduce, serial: layer 9.895 ms, 80 layers 791.6 ms".
std::string serial_times(const study::Verdict& verdict, const study::SizePlans& plans, const Scenario& scenario) {
  const auto shown = [&](double layers) { return in_ms(plans.baseline.time_us * layers) + " ms"; };
  return plans.baseline.name + ": " + of_layers(verdict, scenario, shown, "");
}

/// "MLP down" of "MLP down projection, sequence parallel".
std::string short_name(const std::string& pair) {
  const std::string name = pair.substr(0, pair.find(','));
  return name.substr(0, name.find(" projection"));
}

using Schedules = std::vector<std::pair<std::string, const study::Explored*>>;

/// "async TP (qkv, MLP down); pushes shard by shard (attention output)"; a schedule alone with all its choices.
std::string words_of(const Schedules& schedules) {
  std::vector<std::string> order;
  std::map<std::string, std::string> pairs;
  for (const auto& [pair, one] : schedules) {
    const scenarios::ScheduleChoice& schedule = one->candidate.request.schedule;
    const std::string words = schedules.size() > 1 ? kind_of(schedule) : scenarios::words_of(schedule);
    if (!pairs.contains(words)) order.push_back(words);
    std::string& names = pairs[words];
    names += (names.empty() ? "" : ", ") + short_name(pair);
  }
  std::string text;
  for (const std::string& words : order)
    text += (text.empty() ? "" : "; ") + words + (pairs[words].empty() ? "" : " (" + pairs[words] + ")");
  return text;
}

/// "sequence parallel, async TP (MLP down)": the form, where there is one, and the schedules.
std::string words_of(const study::Plan& plan, const Scenario& scenario) {
  if (!scenario.model) return scenarios::words_of(plan.schedules.front().second->candidate.request.schedule);
  return plan.name.substr(0, plan.name.find(',')) + ", " + words_of(plan.schedules);
}

/// The schedules of a plan that another one, of the same pairs, has others for.
Schedules others(const study::Plan& plan, const study::Plan& than) {
  Schedules found;
  for (std::size_t i = 0; i < plan.schedules.size(); ++i)
    if (scenarios::words_of(plan.schedules[i].second->candidate.request.schedule) !=
        scenarios::words_of(than.schedules[i].second->candidate.request.schedule))
      found.push_back(plan.schedules[i]);
  return found;
}

bool are_of_the_same_pairs(const study::Plan& one, const study::Plan& other) {
  return std::ranges::equal(one.schedules, other.schedules,
                            [](const auto& a, const auto& b) { return a.first == b.first; });
}

/// "by " what runs all schedules of a plan; else "in parts by " what runs some of them.
std::string by_software(const study::Plan& plan) {
  std::map<std::string, std::size_t> runs;  // how many of the schedules
  for (const auto& [pair, one] : plan.schedules) {
    for (const std::string& name : one->other_software) ++runs[name];
    if (one->runnable) ++runs["weft run"];
  }
  std::string whole, parts;
  for (const auto& [name, schedules] : runs) {
    std::string& text = schedules == plan.schedules.size() ? whole : parts;
    text += (text.empty() ? "" : ", ") + name;
  }
  return whole.empty() ? "in parts by " + parts : "by " + whole;
}

std::string odds_of(const scenarios::Odds& odds) {
  return fixed(100 * odds.faster, 0) + " % to be faster, " + share(odds.gain) + " gain expected, " +
         share(odds.worst_gain) + " in the worst of 20 cases";
}

/// "-9.9 %, 97 % to be faster".
std::string gain_of(const study::Plan& plan, const study::SizePlans& plans) {
  return signed_percent(plan.time_us / plans.baseline.time_us - 1) + ", " + fixed(100 * plan.odds.faster, 0) +
         " % to be faster";
}

std::string runs_today(const study::SizePlans& plans, const Scenario& scenario) {
  if (!plans.runnable) return "this plan, " + by_software(plans.best);
  const study::Plan& plan = *plans.runnable;
  if (plan.schedules.empty()) return "nothing of it";
  const bool is_variant = plan.schedules.size() > 1 && are_of_the_same_pairs(plan, plans.best);
  const std::string what =
      is_variant ? "this plan with " + words_of(others(plan, plans.best)) : words_of(plan, scenario);
  return what + ", " + gain_of(plan, plans) + ", " + by_software(plan);
}

std::string of_others(const study::Plan& plan, const study::SizePlans& plans, const Scenario& scenario) {
  if (plan.schedules.empty()) return "nothing that gains";
  return words_of(plan, scenario) + ", " + gain_of(plan, plans) + ", " + by_software(plan);
}

void add_gain(const study::Verdict& verdict, const study::SizePlans& plans, const Scenario& scenario,
              std::vector<std::string>& notes) {
  notes.push_back("At " + sized(plans.size, scenario) + ": " + times(verdict, plans, scenario) + ".");
  notes.push_back("Plan: " + words_of(plans.best, scenario) + ".");
  notes.push_back("Odds: " + odds_of(plans.best.odds) + ".");
  notes.push_back("Runs today: " + runs_today(plans, scenario) + ".");
  if (plans.of_others) notes.push_back("By other software: " + of_others(*plans.of_others, plans, scenario) + ".");
}

/// What rests on numbers that nobody measured or published wins nothing: it is a guess, below the headline, and says
/// so.
void add_guess(const study::Verdict& verdict, const study::SizePlans* plans, const Scenario& scenario,
               std::vector<std::string>& notes) {
  notes.push_back("No winner: too much is assumed. Stay with " + verdict.largest().baseline.name +
                  " until it is measured; all times below are guesses.");
  if (plans == nullptr) return;
  notes.push_back("A guess at " + sized(plans->size, scenario) + ": " + words_of(plans->best, scenario) + ", " +
                  times(verdict, *plans, scenario) + ", " + fixed(100 * plans->best.odds.faster, 0) +
                  " % to be faster.");
}

std::string words_of(Grade grade) {
  switch (grade) {
    case Grade::measured:
      return "its numbers are measured on such machines";
    case Grade::measured_alike:
      return "over a tenth of the time rests on machines alike";
    case Grade::published:
      return "over a tenth of the time rests on public figures";
    case Grade::assumed:
      break;
  }
  return "over a tenth of the time rests on assumptions";
}

/// ", since not published: the rate of all-reduce of 4 GPUs. Measure: weft profile new --nccl-tests LOG"
std::string unknown_numbers(const study::Evidence& evidence, const Machine& machine) {
  if (evidence.assumed.empty()) return "";
  std::string numbers, logs;
  bool by_calibration = false;
  for (const auto& [words, measured_by] : evidence.assumed) {
    numbers += (numbers.empty() ? "" : ", ") + words;
    by_calibration |= measured_by == study::MeasuredBy::calibration;
    const std::string log = measured_by == study::MeasuredBy::nccl_tests ? " --nccl-tests LOG"
                            : measured_by == study::MeasuredBy::gemms    ? " --gemms CSV"
                                                                         : "";
    if (logs.find(log) == std::string::npos) logs += log;
  }
  std::string how = logs.empty() ? "" : "weft profile new" + logs;
  if (by_calibration)  // which needs CUDA
    how += (how.empty() ? "" : ", ") +
           std::string(machine.runtime == Runtime::cuda ? "weft calibrate" : "into the profile by hand");
  return ", since not published: " + numbers + ". Measure: " + how;
}

/// "Memory: 19.0 GB a GPU (weights 17.1)."; of plain sizes only what is too much: "Memory: 69.3 GB a GPU, too much for
/// its 24 GB."
std::string memory_sentence(const study::Verdict& verdict, const study::Exploration& exploration,
                            const Machine& machine) {
  double need_GB = 0;
  if (verdict.memory) need_GB = verdict.memory->total_GB();
  for (const study::Answer& answer : exploration.answers) need_GB = std::max(need_GB, answer.advice().memory_GB);
  const bool is_too_much = machine.gpu.memory_GB > 0 && need_GB > machine.gpu.memory_GB;
  if (!verdict.memory && !is_too_much) return "";
  std::string text = "Memory: " + fixed(need_GB, 1) + " GB a GPU";
  if (verdict.memory) text += " (weights " + fixed(verdict.memory->weights_GB, 1) + ")";
  if (is_too_much) text += ", too much for its " + fixed(machine.gpu.memory_GB, 0) + " GB";
  return text + ".";
}

/// What of the model, and of ways to run it, the answer is not about.
std::vector<std::string> left_out(const Scenario& scenario) {
  if (!scenario.model) return {};
  std::vector<std::string> all = scenario.model->ignored;
  if (scenario.model->experts > 0) all.emplace_back("expert parallelism: each expert is split over all GPUs");
  if (scenario.forms.size() < 2) return all;
  std::vector<std::string> sizes;
  for (const std::int64_t size : scenario.sizes)
    if (size % scenario.gpus != 0) sizes.push_back(std::to_string(size));
  if (!sizes.empty())
    all.push_back("sequence parallelism with numbers of " + size_word(scenario) + " that are no multiple of " +
                  std::to_string(scenario.gpus) + " GPUs (" + joined(sizes) + ")");
  return all;
}

/// Of sizes that leave some pattern without a schedule: most schedules cut rows evenly, by GPUs and in up to 16 pieces,
/// few rows by GPUs alone.
std::string what_fits(const study::Verdict& verdict, const Scenario& scenario) {
  constexpr int usual_pieces = 16;
  const bool are_few = verdict.uncut.front() < 4 * usual_pieces * scenario.gpus;
  std::vector<std::string> sizes;
  for (const std::int64_t size : verdict.uncut) sizes.push_back(std::to_string(size));
  return (scenario.model ? "Some patterns have" : "There is") + std::string(" no schedule that overlaps for ") +
         size_word(scenario) + " of " + joined(sizes) + ", since those cut evenly: ask about a multiple of " +
         std::to_string((are_few ? 1 : usual_pieces) * scenario.gpus) + " where a batch may be padded to one.";
}

/// "8 GPUs, n".
std::string quantities(const std::vector<std::string>& outside, const Scenario& scenario) {
  const auto word = [&](const std::string& quantity) {
    if (quantity == "gpus") return std::to_string(scenario.gpus) + " GPUs";
    return quantity == "weight_bits" ? "weights of fewer bits than GEMMs multiply" : quantity;
  };
  std::vector<std::string> words;
  for (const std::string& quantity : outside) words.push_back(word(quantity));
  return joined(words);
}

/// What the answer needs and rests on: "Memory: 19.0 GB a GPU (weights 17.1). Evidence: measured on such machines."
std::string conditions(const study::Verdict& verdict, const study::Exploration& exploration, const Scenario& scenario,
                       const Machine& machine, const study::Evidence& evidence) {
  std::string text;
  const auto add = [&text](const std::string& sentence) { text += (text.empty() ? "" : " ") + sentence; };
  if (const std::string memory = memory_sentence(verdict, exploration, machine); !memory.empty()) add(memory);
  add("Evidence: " + words_of(evidence.grade) + unknown_numbers(evidence, machine) + ".");
  if (!evidence.outside.empty()) add("Beyond what was measured there: " + quantities(evidence.outside, scenario) + ".");
  if (const std::size_t count = left_out(scenario).size(); count > 0)
    add("Not counted: " + std::to_string(count) + ", below.");
  return text;
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
    const auto [known, is_new] =
        of_kind.try_emplace(kind_of(one.candidate.request.schedule) + mark_of(one.candidate), lines.size());
    if (is_new) {
      lines.push_back({&one});
      continue;
    }
    Line& line = lines[known->second];
    if (one.candidate.estimate.time_us <= line.one->candidate.estimate.time_us * (1 + nearly)) ++line.alike;
  }
  std::stable_partition(lines.begin(), lines.end(),
                        [](const Line& line) { return line.one->candidate.why_not != WhyNot::assumed; });
  return lines;
}

/// What the others are compared with: serial by the library's collectives.
bool is_reference(const study::Answer& answer, const Line& line) {
  return line.one->candidate.request.id == answer.ranking.reference().request.id;
}

/// The first lines, with that of the reference in place of the last where it comes later.
void keep_first(const study::Answer& answer, std::vector<Line>& lines) {
  if (lines.size() <= most_lines) return;
  for (std::size_t i = most_lines; i < lines.size(); ++i)
    if (is_reference(answer, lines[i])) lines[most_lines - 1] = lines[i];
  lines.resize(most_lines);
}

}  // namespace

Section verdict_section(const study::Verdict& verdict, const study::Exploration& exploration, const Scenario& scenario,
                        const Machine& machine, const study::Evidence& evidence) {
  Section section{"", {{}, {}}, {}};
  const study::SizePlans* plans = largest_that_pays(verdict);
  if (evidence.grade == Grade::assumed) {
    add_guess(verdict, plans, scenario, section.notes);
  } else if (plans != nullptr) {
    section.notes.push_back(headline(verdict, scenario));
    add_gain(verdict, *plans, scenario, section.notes);
  } else {
    section.notes.push_back(headline(verdict, scenario));
    section.notes.push_back("At " + sized(verdict.largest().size, scenario) + ", " +
                            serial_times(verdict, verdict.largest(), scenario) + ".");
    const study::Answer& nearest = exploration.answers[exploration.most_gained()];
    const scenarios::Candidate& fastest = nearest.ranking.fastest();
    if (!std::holds_alternative<scenarios::Serial>(fastest.request.schedule.family))
      section.notes.push_back("The nearest to a gain: " + (scenario.model ? nearest.pair + " alone, " : "") +
                              scenarios::words_of(fastest.request.schedule) + mark_of(fastest) + ", " +
                              odds_of(fastest.odds) + ".");
  }
  if (!verdict.uncut.empty()) section.notes.push_back(what_fits(verdict, scenario));
  if (std::string text = conditions(verdict, exploration, scenario, machine, evidence); !text.empty())
    section.notes.push_back(std::move(text));
  return section;
}

Section plans_section(const study::Verdict& verdict, const Scenario& scenario, Grade grade) {
  Section section{
      std::string(verdict.is_of_layers ? "A layer" : "A layer's pairs") + " against " +
          verdict.largest().baseline.name + (grade == Grade::assumed ? ", by assumed numbers" : ""),
      {{size_word(scenario), "serial ms", "best ms", "expected", "worst of 20", "faster with", "best plan"}, {}},
      {}};
  for (const study::SizePlans& plans : verdict.sizes) {
    const auto of_odds = [&](double value, int decimals) {
      return plans.pays() ? Cell(Number{100 * value, decimals, " %"}) : Cell("-");
    };
    const scenarios::Odds& odds = plans.best.odds;
    section.table.rows.push_back({Number{static_cast<double>(plans.size), 0}, Number{plans.baseline.time_us * 1e-3, 3},
                                  Number{plans.best.time_us * 1e-3, 3}, of_odds(odds.gain, 1),
                                  of_odds(odds.worst_gain, 1), of_odds(odds.faster, 0), plans.best.name});
  }
  return section;
}

std::vector<std::string> not_counted(const Scenario& scenario) {
  std::string text;
  for (const std::string& one : left_out(scenario)) text += (text.empty() ? "" : "; ") + one;
  return text.empty() ? std::vector<std::string>{} : std::vector{"Not counted: " + text + "."};
}

Section crossover_section(const std::vector<study::Crossover>& crossovers, const Scenario& scenario) {
  const bool is_one_size = scenario.sizes.size() == 1;
  Section section{
      is_one_size ? "Does overlap pay at " + std::to_string(scenario.sizes.front()) + " " + size_word(scenario) + "?"
                  : "Overlap pays from so many " + size_word(scenario) + " on",
      {{"pattern"}, {}},
      {}};
  std::vector<int> counts;
  std::vector<std::string> patterns;
  std::map<std::pair<std::string, int>, std::string> cells;
  for (const study::Crossover& one : crossovers) {
    if (std::ranges::find(counts, one.gpus) == counts.end()) counts.push_back(one.gpus);
    if (std::ranges::find(patterns, one.pattern) == patterns.end()) patterns.push_back(one.pattern);
    cells[{one.pattern, one.gpus}] = !one.reason.empty() ? "-"
                                     : !one.pays_from    ? (is_one_size ? "no" : "never")
                                     : is_one_size       ? "yes"
                                                         : std::to_string(*one.pays_from);
  }
  for (const int gpus : counts) section.table.columns.emplace_back(std::to_string(gpus) + " GPUs");
  for (const std::string& pattern : patterns) {
    std::vector<Cell>& row = section.table.rows.emplace_back();
    row.emplace_back(pattern);
    for (const int gpus : counts) row.emplace_back(cells.contains({pattern, gpus}) ? cells[{pattern, gpus}] : "-");
  }
  if (counts.size() > 1)
    section.notes.push_back("Each against the same pattern, serial. All schedules are looked at for " +
                            std::to_string(scenario.gpus) +
                            " GPUs; for others those with a name alone, which may pay later.");
  return section;
}

namespace {

/// Of those that are faster than what is advised, and not advised since their numbers are assumed; else nothing.
std::string faster_by_assumption(const study::Answer& answer) {
  const auto is_faster = [&](const study::Explored& one) {
    return one.candidate.why_not == WhyNot::assumed &&
           one.candidate.estimate.time_us < answer.advice().candidate.estimate.time_us;
  };
  const auto count = std::ranges::count_if(answer.fastest_first, is_faster);
  if (count == 0) return "";
  return std::to_string(count) + (count == 1 ? " schedule is" : " schedules are") +
         " faster by numbers that are assumed, and not advised (--all).";
}

}  // namespace

Section short_ranking(const study::Answer& answer, const Scenario& scenario, Grade grade) {
  Section section{answer.pair + ", " + std::to_string(answer.size) + " " + size_word(scenario) + ", " +
                      std::to_string(scenario.gpus) + " GPUs" + (grade == Grade::assumed ? ", by assumed numbers" : ""),
                  {{"schedule", "us", "speedup", "faster with", "expected", droppable("worst of 20", 2),
                    droppable("limited by", 1), "weft run"},
                   {}},
                  {(grade == Grade::assumed ? "A guess: " : "") + verdict(answer)}};
  if (std::string note = faster_by_assumption(answer); !note.empty()) section.notes.push_back(std::move(note));
  std::vector<Line> lines = lines_of(answer);
  keep_first(answer, lines);
  for (const Line& line : lines) {
    const auto& [one, alike] = line;
    const scenarios::Candidate& candidate = one->candidate;
    const auto of_odds = [&](double value, int decimals) {
      return is_reference(answer, line) ? Cell("-") : Cell(Number{100 * value, decimals, " %"});
    };
    section.table.rows.push_back({words_of(candidate.request.schedule) + mark_of(candidate) +
                                      (alike > 0 ? " (+ " + std::to_string(alike) + " like it)" : ""),
                                  Number{candidate.estimate.time_us, 1}, ratio(candidate.speedup),
                                  of_odds(candidate.odds.faster, 0), of_odds(candidate.odds.gain, 1),
                                  of_odds(candidate.odds.worst_gain, 1), std::string(name_of(one->limited_by)),
                                  one->runnable ? "yes" : "no"});
  }
  return section;
}

Section short_losses(const study::Answer& answer) {
  std::vector<study::NamedLosses> explained;
  for (const study::Explored& one : answer.fastest_first)
    if (one.losses) explained.push_back({words_of(one.candidate.request.schedule), *one.losses});
  return losses_table(explained);
}

}  // namespace weft::scenarios::report
