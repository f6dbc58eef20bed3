#include "tools/exploration.hpp"

#include <algorithm>
#include <array>

#include "sim/simulated_executor.hpp"
#include "tools/measured_times.hpp"
#include "tools/table.hpp"

namespace weft::tools {
namespace {

using scenarios::Candidate;
using scenarios::Case;

bool is_collective(const Operation& operation) { return std::holds_alternative<Collective>(operation.work); }

/// The schedule without its collectives, or without everything else; what followed a dropped operation follows nothing.
Schedule only(const Schedule& schedule, bool collectives) {
  Schedule part = schedule;
  part.meaning.reset();
  part.operations.clear();
  for (const Operation& operation : schedule.operations) {
    if (is_collective(operation) != collectives) continue;
    part.operations.push_back(operation);
    part.operations.back().after.clear();
  }
  return part;
}

double time_of_spans(const Trace& trace, bool collectives) {
  double total_us = 0;
  for (const Span& span : trace.spans)
    if (span.gpu == 0 && (span.kind == "collective") == collectives) total_us += span.end_us - span.start_us;
  return total_us;
}

/// Time in which a collective runs on GPU 0 and nothing else does.
double exposed_us(const Trace& trace) {
  std::vector<std::pair<double, double>> compute;
  for (const Span& span : trace.spans)
    if (span.gpu == 0 && span.kind != "collective") compute.emplace_back(span.start_us, span.end_us);
  std::sort(compute.begin(), compute.end());
  double exposed = 0;
  for (const Span& span : trace.spans) {
    if (span.gpu != 0 || span.kind != "collective") continue;
    double from = span.start_us;
    for (const auto& [start, end] : compute) {
      if (end <= from || start >= span.end_us) continue;
      exposed += std::max(0.0, start - from);
      from = std::max(from, end);
    }
    exposed += std::max(0.0, span.end_us - from);
  }
  return exposed;
}

struct Alone {
  double compute_us = 0, collective_us = 0;
};
Alone alone(const Schedule& schedule, const Machine& machine) {
  sim::SimulatedExecutor executor;
  return {time_of_spans(executor.run(only(schedule, false), machine), false),
          time_of_spans(executor.run(only(schedule, true), machine), true)};
}

Losses losses_of(const Prediction& prediction, const Alone& whole, const Machine& machine) {
  const Alone parts = alone(prediction.schedule, machine);
  return {.more_waves_us = std::max(0.0, parts.compute_us - whole.compute_us),
          .lost_sms_us = std::max(0.0, time_of_spans(prediction.trace, false) - parts.compute_us),
          .small_transfers_us = std::max(0.0, parts.collective_us - whole.collective_us),
          .exposed_us = exposed_us(prediction.trace)};
}

/// How far below its prediction a speedup over serial may be measured, where the profile says so.
std::optional<double> speedup_low(const Machine& machine) {
  for (const ErrorBand& band : machine.errors)
    if (band.stratum == "speedup") return band.low;
  return std::nullopt;
}

}  // namespace

std::string why(const Explored& explored) {
  const Losses& losses = explored.losses;
  const std::array<std::pair<double, const char*>, 4> named{{{losses.exposed_us, "exposed communication"},
                                                             {losses.more_waves_us, "more waves"},
                                                             {losses.lost_sms_us, "lost SMs"},
                                                             {losses.small_transfers_us, "small transfers"}}};
  const auto& [loss_us, name] = *std::max_element(named.begin(), named.end());
  if (loss_us < 0.01 * explored.candidate.estimate.time_us) return "-";
  return std::string(name) + " " + fixed(loss_us, 0) + " us";
}

Answer explore_pair(const scenarios::Question& question, std::int64_t size, const scenarios::Scenario& scenario,
                    const Machine& machine, std::size_t& simulated) {
  std::vector<Case> cases = scenarios::candidates(question.workload, scenario.gpus, scenario.space);
  for (Case& one : cases) one.measured = scenario.measured;
  const Machine as_measured = with_measured_times(cases.front(), machine);
  std::vector<Explored> explored;
  Alone whole;
  const auto estimate = [&](const Case& request) {
    const Prediction prediction = predict(request, machine, {.spans = true, .serial = false});
    if (explored.empty()) whole = alone(prediction.schedule, as_measured);
    explored.push_back({.candidate = {request, {}, 1},
                        .bound_us = prediction.bound_us,
                        .limited_by = prediction.limited_by,
                        .losses = losses_of(prediction, whole, as_measured)});
    ++simulated;
    return scenarios::Estimate{prediction.time_us, prediction.low_us, prediction.high_us};
  };
  Answer answer{.pair = question.name,
                .size = size,
                .ranking = scenarios::rank(cases, estimate, speedup_low(machine)),
                .fastest_first = {}};
  for (const Candidate& candidate : answer.ranking.fastest_first) {
    const auto found = std::find_if(explored.begin(), explored.end(), [&](const Explored& one) {
      return one.candidate.request.id == candidate.request.id;
    });
    answer.fastest_first.push_back(*found);
    answer.fastest_first.back().candidate = candidate;
  }
  return answer;
}

Exploration explore(const scenarios::Scenario& scenario, const Machine& machine) {
  Exploration exploration;
  for (std::size_t i = 0; i < scenario.sizes.size(); ++i) {
    double saved_us = 0;
    for (const scenarios::Question& question : scenarios::questions(scenario, i)) {
      exploration.answers.push_back(
          explore_pair(question, scenario.sizes[i], scenario, machine, exploration.simulated));
      saved_us += exploration.answers.back().ranking.saved_us();
    }
    if (const auto layer = scenarios::layer(scenario, i)) {
      const Case request{.id = "layer",
                         .gpus = scenario.gpus,
                         .workload = *layer,
                         .schedule = {scenarios::Serial{}, 0, scenario.space.launch},
                         .measured = {}};
      const double serial_us = predict(request, machine, {.spans = false, .serial = false}).time_us;
      exploration.layers.push_back({scenario.sizes[i], serial_us, saved_us});
    }
  }
  return exploration;
}

}  // namespace weft::tools
