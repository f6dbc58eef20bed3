#include "scenarios/study/exploration.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <unordered_map>

#include "models/base/input_error.hpp"
#include "models/execution/executor.hpp"
#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "scenarios/likely_hybrids.hpp"
#include "scenarios/study/odds.hpp"
#include "scenarios/study/parallel.hpp"

namespace weft::scenarios::study {
namespace {

/// Of hybrids whose GEMM has a limit: as many SMs as a limit of 16 CTAs needs.
constexpr int sms_kept_free = 16;

/// In the order in which they are worth looking at; none where they are not asked for, or are candidates already.
/// Whoever chooses families asks for those alone.
std::vector<Case> likely_hybrid_cases(const Workload& workload, const Scenario& scenario, const Machine& machine,
                                      const ExploreOptions& options) {
  const auto* pair = std::get_if<PairWorkload>(&workload);
  SearchSpace space = scenario.space;
  if (pair == nullptr || options.least_schedules == 0 || space.hybrids || space.families) return {};
  space.gemm_sms = {machine.gpu.sms() - sms_kept_free};
  std::vector<Case> cases;
  for (const ScheduleChoice& choice : likely_hybrids(*pair, scenario.gpus, space, machine))
    cases.push_back({.id = describe(choice),
                     .gpus = scenario.gpus,
                     .workload = workload,
                     .schedule = choice,
                     .measured = scenario.measured});
  return cases;
}

template <class Condition>
const Explored* first_where(const std::vector<Explored>& all, const Condition& holds) {
  const auto found = std::find_if(all.begin(), all.end(), holds);
  return found == all.end() ? nullptr : &*found;
}

bool is_hybrid(const Case& request) { return std::holds_alternative<Hybrid>(request.schedule.family); }

/// Empty for a hybrid that gets stuck: on this machine what holds the SMs waits for what needs them.
std::optional<Explored> run_case(const Case& request, const Machine& machine, Executor& executor) {
  try {
    const Prediction prediction = predict(request, machine, executor, {.serial = false});
    return Explored{.candidate = {request, {prediction.time_us, prediction.low_us, prediction.high_us}, 1},
                    .as_run = prediction.choice,
                    .bound_us = prediction.bound_us,
                    .limited_by = prediction.limited_by,
                    .runnable = prediction.runnable,
                    .losses = {},
                    .inefficiency = {},
                    .reordering = next_kernel_reordering(machine, prediction.schedule)};
  } catch (const ExecutionError&) {
    if (!is_hybrid(request)) throw;
    return std::nullopt;
  }
}

/// One pair, or a whole layer, at one size: what is simulated of it, and how that went.
class PairStudy {
 public:
  PairStudy(const Question& question, std::int64_t size, const Scenario& scenario, const Machine& machine,
            Executor& executor, const ExploreOptions& options)
      : question_(question),
        size_(size),
        machine_(machine),
        executor_(executor),
        options_(options),
        cases_(candidates(question.workload, scenario.gpus, scenario.space)),
        hybrids_(likely_hybrid_cases(question.workload, scenario, machine, options)) {
    for (Case& one : cases_) one.measured = scenario.measured;
  }

  bool has(const std::string& id) const {
    const auto is_it = [&](const Case& one) { return one.id == id; };
    return std::any_of(cases_.begin(), cases_.end(), is_it) || std::any_of(hybrids_.begin(), hybrids_.end(), is_it);
  }
  /// Schedules, unless some get stuck.
  std::size_t expected() const {
    return std::max(cases_.size(), std::min(cases_.size() + hybrids_.size(), options_.least_schedules));
  }

  /// Serial, and the schedules that have a name as a similar exploration ranked them, until overlap pays: more of them
  /// do not change that, only by which one.
  void run_until_it_pays(const Exploration& similar, ProgressCounter& progress) {
    for (const Case* one : in_order_of(similar)) {
      simulate_all({one, 1}, progress);
      if (answer().ranking.overlap_pays()) return;
    }
  }
  bool is_complete() const { return explored_.size() >= cases_.size(); }

  void run(ProgressCounter& progress) {
    explored_.clear();
    stuck_ = 0;
    simulate_all(cases_, progress);
    std::span<const Case> left = hybrids_;
    while (explored_.size() < options_.least_schedules && !left.empty()) {
      const std::size_t count = std::min(options_.least_schedules - explored_.size(), left.size());
      simulate_all(left.first(count), progress);
      left = left.subspan(count);
    }
    for (const Case& one : left)
      if (one.id == options_.also) simulate_all({&one, 1}, progress);
  }

  std::size_t simulated() const { return explored_.size(); }

  Answer answer() const {
    std::vector<Case> requests;
    std::unordered_map<std::string, const Explored*> by_id;
    for (const Explored& one : explored_) {
      requests.push_back(one.candidate.request);
      by_id.emplace(one.candidate.request.id, &one);
    }
    const auto estimate = [&](const Case& request) { return by_id.at(request.id)->candidate.estimate; };
    Answer answer{.pair = question_.name,
                  .form = question_.form,
                  .size = size_,
                  .ranking = rank(requests, estimate, judge_of(machine_), options_.rule),
                  .fastest_first = {},
                  .stuck = stuck_};
    for (const Candidate& candidate : answer.ranking.fastest_first) {
      answer.fastest_first.push_back(*by_id.at(candidate.request.id));
      answer.fastest_first.back().candidate = candidate;
    }
    return answer;
  }

 private:
  /// Serial first; what the other exploration has not got is last.
  std::vector<const Case*> in_order_of(const Exploration& similar) const {
    std::unordered_map<std::string, std::size_t> place;
    for (const Answer& answer : similar.answers)
      if (answer.pair == question_.name && answer.size == size_)
        for (const Explored& one : answer.fastest_first) place.emplace(one.candidate.request.id, place.size());
    const auto place_of = [&](const Case* one) {
      if (one == &cases_.front()) return std::size_t{0};
      const auto found = place.find(one->id);
      return 1 + (found == place.end() ? place.size() : found->second);
    };
    std::vector<const Case*> ordered;
    for (const Case& one : cases_) ordered.push_back(&one);
    std::ranges::stable_sort(ordered, {}, place_of);
    return ordered;
  }

  void simulate_all(std::span<const Case> cases, ProgressCounter& progress) {
    std::vector<std::optional<Explored>> results(cases.size());
    for_each_index(cases.size(), [&](std::size_t i) {
      results[i] = run_case(cases[i], machine_, executor_);
      progress.add();
    });
    for (std::optional<Explored>& result : results) result ? explored_.push_back(std::move(*result)) : void(++stuck_);
  }

  Question question_;
  std::int64_t size_;
  const Machine& machine_;
  Executor& executor_;
  const ExploreOptions& options_;
  std::vector<Case> cases_, hybrids_;  // serial is the first case, the likeliest is the first hybrid
  std::vector<Explored> explored_;     // in the order of the cases
  std::size_t stuck_ = 0;
};

struct Asked {
  Question question;
  std::size_t size_index = 0;
  bool is_layer = false;
};

std::string name_of_layer(const LayerWorkload& layer, const Scenario& scenario) {
  const std::string name = "whole layer";
  return scenario.forms.size() > 1 ? name + ", " + std::string(words_of(form_of(layer))) : name;
}

std::vector<Asked> asked_of(const Scenario& scenario) {
  std::vector<Asked> asked;
  for (std::size_t i = 0; i < scenario.sizes.size(); ++i) {
    for (const Question& question : questions(scenario, i)) asked.push_back({question, i});
    for (const LayerWorkload& whole : layers(scenario, i))
      asked.push_back({{name_of_layer(whole, scenario), whole, form_of(whole)}, i, true});
  }
  return asked;
}

void require_known(const std::string& id, const std::vector<std::optional<PairStudy>>& studies) {
  if (id.empty() || std::any_of(studies.begin(), studies.end(), [&](const auto& one) { return one->has(id); })) return;
  throw InputError("schedule", "expected one of the ranking, such as \"" + describe(ScheduleChoice{}) + "\", got \"" +
                                   shown_name(id) + "\"");
}

bool is_of_layer(const Answer& answer) {
  return std::holds_alternative<LayerWorkload>(answer.fastest().candidate.request.workload);
}

/// Answers are made in the order of the questions; a layer that has no schedule but serial is none.
void add_answer(Exploration& exploration, const Asked& asked, Answer answer) {
  if (!asked.is_layer) return exploration.answers.push_back(std::move(answer));
  exploration.layers.push_back({answer.size, *answer.form, answer.ranking.reference().estimate.time_us, 0});
  for (const Answer& pair : exploration.answers)
    if (pair.size == answer.size && pair.form == answer.form && !is_of_layer(pair))
      exploration.layers.back().saved_us += pair.ranking.saved_us();
  if (answer.fastest_first.size() > 1) exploration.answers.push_back(std::move(answer));
}

/// Of the odds that a size's advice is right and the sizes around it are not: below that it is no island but noise.
constexpr double sure_enough = 0.6;

/// The overlapped schedule that promises most.
std::size_t most_promising(const Ranking& ranking) {
  std::size_t best = ranking.serial == 0 && ranking.fastest_first.size() > 1 ? 1 : 0;
  for (std::size_t i = 0; i < ranking.fastest_first.size(); ++i)
    if (i != ranking.serial && ranking.fastest_first[i].odds.gain > ranking.fastest_first[best].odds.gain) best = i;
  return best;
}

/// A size between two that are advised otherwise is advised as they are, unless its own odds say clearly no.
void drown_island(Ranking& ranking) {
  const std::size_t promising = most_promising(ranking);
  const double faster = ranking.fastest_first[promising].odds.faster;
  if (ranking.overlap_pays() && faster < sure_enough)
    ranking.advised = ranking.serial;
  else if (!ranking.overlap_pays() && faster > 1 - sure_enough)
    ranking.advised = promising;
}

/// Answers come by ascending size, each size with the same patterns. An island is looked at whole first.
void drown_islands(std::vector<Answer>& answers, const std::function<void(std::size_t)>& complete) {
  std::map<std::string, std::vector<std::size_t>> by_pattern;
  for (std::size_t i = 0; i < answers.size(); ++i) by_pattern[answers[i].pair].push_back(i);
  const auto pays = [&](std::size_t index) { return answers[index].ranking.overlap_pays(); };
  for (const auto& [pattern, sizes] : by_pattern)
    for (std::size_t i = 1; i + 1 < sizes.size(); ++i)
      if (pays(sizes[i - 1]) == pays(sizes[i + 1]) && pays(sizes[i]) != pays(sizes[i - 1])) {
        complete(sizes[i]);
        drown_island(answers[sizes[i]].ranking);
      }
}

}  // namespace

const Explored* Answer::fastest_runnable() const {
  return first_where(fastest_first, [](const Explored& one) { return one.runnable; });
}

const Explored* Answer::fastest_named() const {
  return first_where(fastest_first, [](const Explored& one) { return !is_hybrid(one.candidate.request); });
}

std::vector<std::string> Exploration::pairs() const {
  std::vector<std::string> names;
  for (const Answer& answer : answers)
    if (std::find(names.begin(), names.end(), answer.pair) == names.end()) names.push_back(answer.pair);
  return names;
}

std::size_t Exploration::most_gained() const {
  const auto is_pair = [](const Answer& answer) { return !is_of_layer(answer); };
  const auto gain_us = [](const Answer& answer) {
    return answer.ranking.reference().estimate.time_us - answer.ranking.fastest().estimate.time_us;
  };
  const auto gains_less = [&](const Answer& a, const Answer& b) {
    return is_pair(a) != is_pair(b) ? is_pair(b) : gain_us(a) < gain_us(b);
  };
  return static_cast<std::size_t>(std::max_element(answers.begin(), answers.end(), gains_less) - answers.begin());
}

Scenario only_size(const Scenario& scenario, std::int64_t size) {
  const auto kept = std::find(scenario.sizes.begin(), scenario.sizes.end(), size);
  if (kept == scenario.sizes.end())
    throw InputError("size", "expected a size of the scenario, got " + std::to_string(size));
  Scenario one = scenario;
  one.sizes = {size};
  if (!scenario.plain.empty()) one.plain = {scenario.plain[static_cast<std::size_t>(kept - scenario.sizes.begin())]};
  return one;
}

Machine machine_of(const Scenario& scenario, const std::string& named, const std::string& file) {
  if (named.empty() && scenario.machine.empty())
    throw InputError("--machine", "expected the name or path of a profile, since " + file + " names none");
  std::filesystem::path path;
  try {
    if (!scenario.machine.empty()) path = machine_path(scenario.machine);
  } catch (const InputError& error) {
    throw error.in_file(file);
  }
  return read_machine(named.empty() ? path : machine_path(named));
}

Scenario with_whole_space(const Scenario& scenario, const Machine& machine) {
  Scenario whole = scenario;
  whole.space.hybrids = true;
  if (whole.space.families && !whole.space.has("hybrid")) whole.space.families->emplace_back("hybrid");
  whole.space.gemm_sms = {machine.gpu.sms() - sms_kept_free};
  return whole;
}

Answer explore_pair(const Question& question, std::int64_t size, const Scenario& scenario, const Machine& machine,
                    Executor& executor, std::size_t& simulated, const ExploreOptions& options) {
  PairStudy study(question, size, scenario, machine, executor, options);
  ProgressCounter progress(options.progress, study.expected());
  study.run(progress);
  simulated += study.simulated();
  return study.answer();
}

Exploration explore(const Scenario& asked_scenario, const Machine& machine, Executor& executor,
                    const ExploreOptions& options) {
  Scenario scenario = asked_scenario;
  if (scenario.space.two_shot) scenario.space.two_shot_ctas = two_shot_ctas(machine);
  scenario.space.fused_norm_ctas = fused_norm_ctas(machine);
  const std::vector<Asked> asked = asked_of(scenario);
  std::vector<std::optional<PairStudy>> studies(asked.size());
  for_each_index(asked.size(), [&](std::size_t i) {
    studies[i].emplace(asked[i].question, scenario.sizes[asked[i].size_index], scenario, machine, executor, options);
  });
  require_known(options.also, studies);
  std::size_t expected = 0;
  for (const auto& study : studies) expected += study->expected();
  ProgressCounter progress(options.progress, expected);
  for_each_index(studies.size(), [&](std::size_t i) {
    options.until_it_pays_like ? studies[i]->run_until_it_pays(*options.until_it_pays_like, progress)
                               : studies[i]->run(progress);
  });

  Exploration exploration;
  std::vector<Answer> answers;
  for (const auto& study : studies) answers.push_back(study->answer());
  const auto complete = [&](std::size_t i) {
    if (studies[i]->is_complete()) return;
    studies[i]->run(progress);
    answers[i] = studies[i]->answer();
  };
  if (options.rule == Rule::least_regret) drown_islands(answers, complete);
  for (const auto& study : studies) exploration.simulated += study->simulated();
  for (std::size_t i = 0; i < answers.size(); ++i) add_answer(exploration, asked[i], std::move(answers[i]));
  return exploration;
}

}  // namespace weft::scenarios::study
