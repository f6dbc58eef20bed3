#include "scenarios/study/exploration.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <unordered_map>

#include "models/base/input_error.hpp"
#include "models/check/machine_support.hpp"
#include "models/check/memory_fit.hpp"
#include "models/execution/executor.hpp"
#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "models/machine/own_kernel_support.hpp"
#include "scenarios/likely_hybrids.hpp"
#include "scenarios/schedule_words.hpp"
#include "scenarios/study/composed_layer.hpp"
#include "scenarios/study/grade.hpp"
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
bool may_get_stuck(const Case& request) {
  return is_hybrid(request) || std::holds_alternative<Pairs>(request.schedule.family);
}

/// Empty for a hybrid, or a layer with some inside, that gets stuck: on this machine what holds the SMs waits for what
/// needs them.
std::optional<Explored> run_case(const Case& request, const Machine& machine, Executor& executor,
                                 const std::optional<ProfileGrades>& grades) {
  try {
    const Prediction prediction = predict(request, machine, executor, {.serial = false});
    std::optional<Grade> grade;
    if (grades) grade = grade_of(prediction.schedule, prediction.time_us, machine, *grades);
    const bool is_assumed = grade == Grade::assumed;
    return Explored{.candidate = {request,
                                  {.time_us = prediction.time_us,
                                   .low_us = prediction.low_us,
                                   .high_us = prediction.high_us,
                                   .is_assumed = is_assumed,
                                   .is_out_of_reach = lacks_peer_access(machine, prediction.schedule)},
                                  1},
                    .as_run = prediction.choice,
                    .bound_us = prediction.bound_us,
                    .limited_by = prediction.limited_by,
                    .grade = grade,
                    .memory_GB = memory_GB(prediction.schedule),
                    .runnable = prediction.runnable,
                    .not_runnable = prediction.not_runnable,
                    .other_software = fits_memory(prediction.schedule, machine) ? other_software(request, machine)
                                                                                : std::vector<std::string>{},
                    .losses = {},
                    .inefficiency = {},
                    .reordering = next_kernel_reordering(machine, prediction.schedule)};
  } catch (const ExecutionError&) {
    if (!may_get_stuck(request)) throw;
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
    const auto is_it = [&](const Case& one) { return is_called(one, id); };
    return std::any_of(cases_.begin(), cases_.end(), is_it) || std::any_of(hybrids_.begin(), hybrids_.end(), is_it);
  }
  /// Schedules, where there are hybrids enough.
  std::size_t wanted() const {
    return hybrids_.empty() ? 0 : std::max(options_.least_schedules, cases_.size() + least_hybrids);
  }
  /// Schedules, unless some get stuck.
  std::size_t expected() const { return std::max(cases_.size(), std::min(cases_.size() + hybrids_.size(), wanted())); }

  /// Serial, and the schedules that have a name as a similar exploration ranked them, until one that overlaps pays:
  /// more of them do not change that, only by which one.
  void run_until_it_pays(const Exploration& similar, ProgressCounter& progress) {
    const std::vector<const Case*> ordered = in_order_of(similar);
    for (const Case* one : ordered) {
      simulate_all({one, 1}, progress);
      is_complete_ = one == ordered.back();
      if (answer().ranking.overlaps()) return;
    }
  }
  bool is_complete() const { return is_complete_; }

  void run(ProgressCounter& progress) {
    explored_.clear();
    stuck_ = 0;
    is_complete_ = true;
    simulate_all(cases_, progress);
    std::span<const Case> left = hybrids_;
    while (explored_.size() < wanted() && !left.empty()) {
      const std::size_t count = std::min(wanted() - explored_.size(), left.size());
      simulate_all(left.first(count), progress);
      left = left.subspan(count);
    }
    for (const Case& one : left)
      if (is_called(one, options_.also)) simulate_all({&one, 1}, progress);
  }

  /// The layer with these pairs overlapped inside, each once.
  void run_composed(const std::vector<std::optional<Pairs>>& layers, ProgressCounter& progress) {
    std::vector<Case> composed;
    for (const std::optional<Pairs>& pairs : layers) {
      Case request = cases_.front();
      if (pairs) request.schedule.family = *pairs;
      request.id = describe(request.schedule);
      const auto is_it = [&](const Case& other) { return other.id == request.id; };
      if (pairs && std::none_of(composed.begin(), composed.end(), is_it))
        composed.push_back(std::move(request));
      else
        progress.add();
    }
    simulate_all(composed, progress);
  }

  const Workload& workload() const { return question_.workload; }
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
      results[i] = run_case(cases[i], machine_, executor_, options_.grades);
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
  bool is_complete_ = false;  // all that has a name was simulated
};

struct Asked {
  Question question;
  std::size_t size_index = 0;
  bool is_layer = false;
  bool is_shown = true;  // else it is a pair of a layer that is asked about by itself

  LayerForm form() const { return form_of(std::get<LayerWorkload>(question.workload)); }  // of a layer
};

std::string name_of_layer(const LayerWorkload& layer, const Scenario& scenario) {
  const std::string name = "whole layer";
  return scenario.forms.size() > 1 ? name + ", " + std::string(words_of(form_of(layer))) : name;
}

std::vector<Asked> asked_of(const Scenario& scenario) {
  std::vector<Asked> asked;
  for (std::size_t i = 0; i < scenario.sizes.size(); ++i) {
    for (const Question& question : questions(scenario, i)) {
      const auto* const layer = std::get_if<LayerWorkload>(&question.workload);
      if (layer != nullptr)
        for (const Question& pair : pairs_of(*layer, scenario.gpus)) asked.push_back({pair, i, false, false});
      asked.push_back({question, i, layer != nullptr});
    }
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

/// Of the pairs that are advised, inside of the layer.
double saved_inside_us(const Answer& layer) {
  for (const Explored& one : layer.fastest_first)
    if (std::holds_alternative<Pairs>(one.candidate.request.schedule.family))
      return layer.ranking.reference().estimate.time_us - one.candidate.estimate.time_us;
  return 0;
}

/// Answers are made in the order of the questions; a model's layer that has no schedule but serial is none.
void add_answer(Exploration& exploration, const Asked& asked, Answer answer) {
  if (!asked.is_shown) return;
  if (!asked.is_layer || !answer.form) return exploration.answers.push_back(std::move(answer));
  exploration.layers.push_back(
      {answer.size, *answer.form, answer.ranking.reference().estimate.time_us, saved_inside_us(answer), 0});
  for (const Answer& pair : exploration.answers)
    if (pair.size == answer.size && pair.form == answer.form && !pair.is_of_layer())
      exploration.layers.back().saved_by_pairs_us += pair.ranking.saved_us();
  if (answer.fastest_first.size() > 1) exploration.answers.push_back(std::move(answer));
}

/// Of the odds that a size's advice is right and the sizes around it are not: below that it is no island but noise.
constexpr double sure_enough = 0.6;

/// The overlapped schedule that promises most of those that may be advised; serial where there is none.
std::size_t most_promising_overlap(const Ranking& ranking) {
  std::size_t best = ranking.serial;
  for (std::size_t i = 0; i < ranking.fastest_first.size(); ++i) {
    const Candidate& one = ranking.fastest_first[i];
    const bool is_better = best == ranking.serial || one.odds.gain > ranking.fastest_first[best].odds.gain;
    if (i != ranking.serial && one.may_be_advised() && is_better) best = i;
  }
  return best;
}

/// A size between two that are advised otherwise is advised as they are, unless its own odds say clearly no.
void drown_island(Ranking& ranking) {
  const std::size_t promising = most_promising_overlap(ranking);
  const double faster = ranking.fastest_first[promising].odds.faster;
  if (ranking.overlap_pays() && faster < sure_enough)
    ranking.advised = ranking.serial;
  else if (!ranking.overlap_pays() && faster > 1 - sure_enough)
    ranking.advised = promising;
}

/// Answers come by ascending size, each size with the same patterns. An island is looked at whole first, which may
/// change its answer in place.
void drown_islands(const std::vector<Answer*>& answers, const std::function<void(std::size_t)>& complete) {
  std::map<std::string, std::vector<std::size_t>> by_pattern;
  for (std::size_t i = 0; i < answers.size(); ++i) by_pattern[answers[i]->pair].push_back(i);
  const auto pays = [&](std::size_t index) { return answers[index]->ranking.overlap_pays(); };
  for (const auto& [pattern, sizes] : by_pattern)
    for (std::size_t i = 1; i + 1 < sizes.size(); ++i)
      if (pays(sizes[i - 1]) == pays(sizes[i + 1]) && pays(sizes[i]) != pays(sizes[i - 1])) {
        complete(sizes[i]);
        drown_island(answers[sizes[i]]->ranking);
      }
}

/// Schedules of a layer that are made of those of its pairs: the best, and the best that runs today.
constexpr std::size_t composed_layers = 2;

/// All questions of a scenario: first the pairs, then the layers with what is advised for their pairs inside.
class Study {
 public:
  Study(const Scenario& scenario, const Machine& machine, Executor& executor, const ExploreOptions& options)
      : options_(options), asked_(asked_of(scenario)), studies_(asked_.size()), answers_(asked_.size()) {
    for_each_index(asked_.size(), [&](std::size_t i) {
      studies_[i].emplace(asked_[i].question, scenario.sizes[asked_[i].size_index], scenario, machine, executor,
                          options);
    });
    require_known(options.also, studies_);
  }

  Exploration run() {
    std::size_t expected = 0;
    for (std::size_t i = 0; i < asked_.size(); ++i)
      expected += studies_[i]->expected() + (asked_[i].is_layer ? composed_layers : 0);
    ProgressCounter progress(options_.progress, expected);
    const Exploration* const similar = options_.until_it_pays_like;
    for_each_index(studies_.size(), [&](std::size_t i) {
      similar ? studies_[i]->run_until_it_pays(*similar, progress) : studies_[i]->run(progress);
    });
    make_answers(false, progress);
    if (similar && complete_pairs_of_layers(progress)) make_answers(false, progress);
    for_each_index(studies_.size(), [&](std::size_t i) {
      if (asked_[i].is_layer && studies_[i]->is_complete()) studies_[i]->run_composed(layers_of(i), progress);
    });
    make_answers(true, progress);
    return exploration();
  }

 private:
  void make_answers(bool of_layers, ProgressCounter& progress) {
    std::vector<std::size_t> meant;
    std::vector<Answer*> made;
    for (std::size_t i = 0; i < asked_.size(); ++i)
      if (asked_[i].is_layer == of_layers) {
        meant.push_back(i);
        made.push_back(&answers_[i].emplace(studies_[i]->answer()));
      }
    const auto complete = [&](std::size_t index) {
      const std::size_t i = meant[index];
      if (studies_[i]->is_complete()) return;
      studies_[i]->run(progress);
      if (of_layers) studies_[i]->run_composed(layers_of(i), progress);
      *answers_[i] = studies_[i]->answer();
    };
    if (options_.rule == Rule::least_regret) drown_islands(made, complete);
  }

  bool is_pair_of(std::size_t pair, std::size_t layer) const {
    return !asked_[pair].is_layer && asked_[pair].size_index == asked_[layer].size_index &&
           asked_[pair].question.form == asked_[layer].form();
  }

  /// Layers that do not pay by what has a name may pay by what is best for their pairs. True where pairs were left.
  bool complete_pairs_of_layers(ProgressCounter& progress) {
    std::vector<std::size_t> left;
    for (std::size_t pair = 0; pair < asked_.size(); ++pair)
      for (std::size_t layer = 0; layer < asked_.size(); ++layer)
        if (asked_[layer].is_layer && studies_[layer]->is_complete() && is_pair_of(pair, layer) &&
            !studies_[pair]->is_complete())
          left.push_back(pair);
    for_each_index(left.size(), [&](std::size_t i) { studies_[left[i]]->run(progress); });
    return !left.empty();
  }

  std::vector<std::optional<Pairs>> layers_of(std::size_t index) const {
    std::vector<const Answer*> pairs;
    for (std::size_t i = 0; i < asked_.size(); ++i)
      if (is_pair_of(i, index)) pairs.push_back(&*answers_[i]);
    const auto& layer = std::get<LayerWorkload>(studies_[index]->workload());
    return {composed_layer(pairs, layer, [](const Explored&) { return true; }),
            composed_layer(pairs, layer, [](const Explored& one) { return runs_today(one); })};
  }

  Exploration exploration() {
    Exploration exploration;
    exploration.rule = options_.rule;
    exploration.grades = options_.grades;
    for (std::size_t i = 0; i < asked_.size(); ++i) {
      exploration.simulated += studies_[i]->simulated();
      add_answer(exploration, asked_[i], std::move(*answers_[i]));
    }
    return exploration;
  }

  const ExploreOptions& options_;
  std::vector<Asked> asked_;
  std::vector<std::optional<PairStudy>> studies_;
  std::vector<std::optional<Answer>> answers_;
};

}  // namespace

bool runs_today(const Explored& one) { return one.runnable || !one.other_software.empty(); }

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
  const auto is_pair = [](const Answer& answer) { return !answer.is_of_layer(); };
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

namespace {

/// A way of doing collectives that was asked for by name is not passed over in silence, as one of all ways is.
void require_collectives(const Scenario& scenario, const Machine& machine) {
  const SearchSpace& space = scenario.space;
  if (space.collectives == SearchSpace{}.collectives) return;
  for (const Collectives by : space.collectives) {
    const auto does = [by](const auto& one) { return one.by == by; };
    if (std::ranges::none_of(space.kernels, does) && std::ranges::none_of(space.windows, does))
      throw InputError("collectives", "expected what " + machine.name + " has for " + std::to_string(scenario.gpus) +
                                          " GPUs, got " + std::string(name_of(by)));
  }
}

}  // namespace

Exploration explore(const Scenario& asked_scenario, const Machine& machine, Executor& executor,
                    const ExploreOptions& options) {
  Scenario scenario = asked_scenario;
  scenario.space.kernels = kernel_collectives(machine, scenario.space.collectives);
  scenario.space.windows = window_collectives(machine, scenario.gpus, scenario.space.collectives);
  require_collectives(scenario, machine);
  scenario.space.fused_norm_ctas = fused_norm_ctas(machine);
  scenario.space.own_launches = runs_own_kernels(machine);
  return Study(scenario, machine, executor, options).run();
}

}  // namespace weft::scenarios::study
