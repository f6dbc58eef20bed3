#include "scenarios/study/exploration.hpp"

#include <algorithm>

#include "models/execution/executor.hpp"
#include "scenarios/likely_hybrids.hpp"
#include "scenarios/study/given_times.hpp"

namespace weft::scenarios::study {
namespace {

using scenarios::Candidate;
using scenarios::Case;

/// Whoever chooses families asks for those alone.
bool has_all_families(const scenarios::SearchSpace& space) {
  return space.decomposition && space.async_tp && space.signaling && space.ficco;
}

/// In the order in which they are worth looking at; none where they are not asked for, or are candidates already.
std::vector<Case> likely_hybrid_cases(const scenarios::Workload& workload, const scenarios::Scenario& scenario,
                                      const Machine& machine, const ExploreOptions& options) {
  const auto* pair = std::get_if<scenarios::PairWorkload>(&workload);
  scenarios::SearchSpace space = scenario.space;
  if (pair == nullptr || options.least_schedules == 0 || space.hybrids || !has_all_families(space)) return {};
  space.gemm_sms = {machine.gpu.sms() - sms_kept_free};
  std::vector<Case> cases;
  for (const scenarios::ScheduleChoice& choice : scenarios::likely_hybrids(*pair, scenario.gpus, space, machine))
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

bool has_ficco_losses(const Case& request) {
  return std::holds_alternative<scenarios::Ficco>(request.schedule.family) && request.schedule.max_ctas == 0;
}

bool is_slowed_by_power(const Trace& trace) {
  return std::any_of(trace.spans.begin(), trace.spans.end(),
                     [](const Span& span) { return span.limit == Limit::power; });
}

}  // namespace

const Explored* Answer::fastest_runnable() const {
  return first_where(fastest_first, [](const Explored& one) { return one.runnable; });
}

const Explored* Answer::fastest_named() const {
  return first_where(fastest_first, [](const Explored& one) {
    return !std::holds_alternative<scenarios::Hybrid>(one.candidate.request.schedule.family);
  });
}

Answer explore_pair(const scenarios::Question& question, std::int64_t size, const scenarios::Scenario& scenario,
                    const Machine& machine, std::size_t& simulated, const ExploreOptions& options) {
  std::vector<Case> cases = scenarios::candidates(question.workload, scenario.gpus, scenario.space);
  for (Case& one : cases) one.measured = scenario.measured;
  struct Built {
    Explored explored;
    Schedule schedule;
    std::optional<Trace> undisturbed;  ///< of what FiCCO's losses are reported of, where no power limit slows it down
  };
  std::vector<Built> built;
  std::vector<Case> possible;
  std::vector<scenarios::Estimate> estimates;  // of the possible ones
  std::size_t stuck = 0;
  const auto simulate = [&](const Case& request) {
    Prediction prediction = predict(request, machine, {.spans = has_ficco_losses(request), .serial = false});
    built.push_back({{.candidate = {request, {}, 1},
                      .bound_us = prediction.bound_us,
                      .limited_by = prediction.limited_by,
                      .runnable = prediction.runnable,
                      .losses = {},
                      .inefficiency = {},
                      .reordering = next_kernel_reordering(machine, prediction.schedule)},
                     std::move(prediction.schedule),
                     std::nullopt});
    if (has_ficco_losses(request) && !is_slowed_by_power(prediction.trace))
      built.back().undisturbed = std::move(prediction.trace);
    possible.push_back(request);
    estimates.push_back({prediction.time_us, prediction.low_us, prediction.high_us});
    ++simulated;
  };
  const auto try_to_simulate = [&](const Case& request) {
    try {
      simulate(request);
    } catch (const ExecutionError&) {  // on this machine what holds the SMs waits for what needs them
      if (!std::holds_alternative<scenarios::Hybrid>(request.schedule.family)) throw;
      ++stuck;
    }
  };
  for (const Case& request : cases) {
    try_to_simulate(request);
    if (options.progress) options.progress(built.size() + stuck, cases.size());
  }
  for (const Case& request : likely_hybrid_cases(question.workload, scenario, machine, options)) {
    if (built.size() >= options.least_schedules) break;
    try_to_simulate(request);
  }
  const auto estimate = [&, next = std::size_t{0}](const Case&) mutable { return estimates[next++]; };
  Answer answer{.pair = question.name,
                .size = size,
                .ranking = scenarios::rank(possible, estimate, speedup_low(machine)),
                .fastest_first = {},
                .stuck = stuck};
  const Machine as_measured = with_given_times(cases.front(), machine);
  const LossAccount account(built.front().schedule, as_measured);
  InefficiencyAccount inefficiencies(as_measured);
  const auto is_asked = [&](const Candidate& candidate) {
    return options.why_all || candidate.request.id == options.why ||
           candidate.request.id == answer.ranking.fastest().request.id ||
           candidate.request.id == answer.ranking.reference().request.id;
  };
  for (const Candidate& candidate : answer.ranking.fastest_first) {
    const auto found = std::find_if(built.begin(), built.end(), [&](const Built& one) {
      return one.explored.candidate.request.id == candidate.request.id;
    });
    answer.fastest_first.push_back(found->explored);
    answer.fastest_first.back().candidate = candidate;
    if (is_asked(candidate)) answer.fastest_first.back().losses = account.of(found->schedule);
    if (has_ficco_losses(candidate.request))
      answer.fastest_first.back().inefficiency =
          inefficiencies.of(candidate.request, found->undisturbed ? &*found->undisturbed : nullptr);
  }
  return answer;
}

Exploration explore(const scenarios::Scenario& asked, const Machine& machine, const ExploreOptions& options) {
  scenarios::Scenario scenario = asked;
  scenario.space.fused_norm_ctas = scenarios::fused_norm_ctas(machine);
  Exploration exploration;
  for (std::size_t i = 0; i < scenario.sizes.size(); ++i) {
    double saved_us = 0;
    for (const scenarios::Question& question : scenarios::questions(scenario, i)) {
      exploration.answers.push_back(
          explore_pair(question, scenario.sizes[i], scenario, machine, exploration.simulated, options));
      saved_us += exploration.answers.back().ranking.saved_us();
    }
    if (const auto layer = scenarios::layer(scenario, i)) {
      const Answer whole =
          explore_pair({"whole layer", *layer}, scenario.sizes[i], scenario, machine, exploration.simulated, options);
      exploration.layers.push_back({scenario.sizes[i], whole.ranking.reference().estimate.time_us, saved_us});
      if (whole.fastest_first.size() > 1) exploration.answers.push_back(whole);
    }
  }
  return exploration;
}

}  // namespace weft::scenarios::study
