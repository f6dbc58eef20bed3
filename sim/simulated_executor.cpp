#include "sim/simulated_executor.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "models/cost/governor.hpp"
#include "models/schedule/facts.hpp"
#include "sim/clock_of_phases.hpp"
#include "sim/mix_clock.hpp"
#include "sim/power_limit.hpp"
#include "sim/simulation.hpp"

namespace weft::sim {
namespace {

/// The machine without what is switched off and is a number of the profile.
Machine without(const Mechanisms& mechanisms, Machine machine) {
  if (!mechanisms.governor_delay) machine.power.governor_delay_ms = machine.power.governor_ramp_ms = 0;
  CollectiveKernel& kernel = machine.collective_kernel;
  if (!mechanisms.residency) {
    kernel.threads_per_cta = kernel.registers_per_thread = 0, kernel.shared_memory_per_cta = 0;
    if (auto& fused = machine.fused_norm_kernel) fused->threads_per_cta = fused->registers_per_thread = 0;
  }
  if (!mechanisms.slowdown) {
    kernel.cold_factor = 1;
    kernel.crowded_us = kernel.beside_gemm = kernel.memory_pressure = 0;
    machine.gemm.beside_copies = machine.gemm.beside_pushes = 0;
    if (machine.direct_collectives) {
      auto& [one_shot, two_shot, multimem] = *machine.direct_collectives;
      for (std::optional<DirectCollective>* direct : {&one_shot, &two_shot, &multimem})
        if (*direct) (*direct)->beside_gemm = 0;
    }
  }
  if (!mechanisms.gaps) machine.latencies.beside_branches_us = 0;
  if (!mechanisms.skew)
    machine.gpu.speed_spread = machine.latencies.barrier_skew_us = machine.latencies.start_skew_us =
        machine.copy_engines.setup_spread_us = machine.latencies.copy_gap_spread_us =
            machine.latencies.copy_fork_spread_us = machine.latencies.copy_wait_spread_us =
                machine.latencies.eager_event_spread_us = machine.copy_engines.speed_spread = 0;
  return machine;
}

/// A GPU that is held at more than its highest clock runs at that, as does one that nothing holds.
double held_clock_share(const RunCondition& condition, const Gpu& gpu) {
  return condition.fixed_clock_MHz > 0 ? std::min(1.0, condition.fixed_clock_MHz / gpu.max_clock_MHz) : 1;
}

/// Under load the clock is where the power limit lets it settle. A short run begins at the highest, and is over before
/// the governor has brought it all the way down.
Attempt run_governed(Simulation& simulation, const Machine& machine) {
  if (machine.condition.condition == Condition::sustained)
    return at_clocks_of_phases(simulation, at_power_limit(simulation, simulation.run(guessed_clock_share(simulation))));
  const Attempt unlimited = simulation.run(1);
  Attempt attempt = at_power_limit(simulation, unlimited);
  const double share = throttled_share(machine.power, unlimited.time_us);
  if (!attempt.is_power_limited) return attempt;
  if (share == 1) return at_clocks_of_phases(simulation, attempt);
  const double unlimited_cycle = 1 / simulation.tensor_clock_share(1);
  attempt = simulation.run(1 / std::lerp(unlimited_cycle, 1 / attempt.clock_share, share));
  attempt.is_power_limited = true;
  return attempt;
}

/// Refers to its arguments.
std::vector<std::unique_ptr<Simulation>> mix_of(const std::vector<Schedule>& schedules, const Machine& machine,
                                                const SimulationOptions& options) {
  std::vector<std::unique_ptr<Simulation>> mix;
  for (const Schedule& schedule : schedules) {
    mix.push_back(std::make_unique<Simulation>(schedule, machine, options));
    mix.back()->leave_out_statistics();
  }
  return mix;
}

}  // namespace

bool ranks_are_alike(const Schedule& schedule) {
  return std::all_of(schedule.operations.begin(), schedule.operations.end(), [](const Operation& operation) {
    const Facts of_work = facts(operation.work);
    return !of_work.differs_by_rank && (of_work.is_collective || !of_work.crosses_ranks);
  });
}

Trace SimulatedExecutor::run(const Schedule& schedule, const Machine& machine, SimulationStatistics* statistics) const {
  return run(schedule, machine, statistics, nullptr);
}

Timeline SimulatedExecutor::observe(const Schedule& schedule, const Machine& machine) const {
  Timeline timeline;
  timeline.trace = run(schedule, machine, nullptr, &timeline.tracks);
  timeline.edges = edges_of(schedule, timeline.trace);
  return timeline;
}

Trace SimulatedExecutor::run(const Schedule& schedule, const Machine& full_machine, SimulationStatistics* statistics,
                             std::vector<Track>* tracks) const {
  std::optional<Machine> reduced;
  if (options_.mechanisms != Mechanisms{}) reduced = without(options_.mechanisms, full_machine);
  const Machine& machine = reduced ? *reduced : full_machine;
  Simulation simulation(schedule, machine, options_);
  if (statistics == nullptr) simulation.leave_out_statistics();
  const RunCondition& condition = machine.condition;
  const bool is_governed =
      options_.mechanisms.power && condition.fixed_clock_MHz == 0 && simulation.uses_tensor_cores();
  const Attempt attempt =
      is_governed ? run_governed(simulation, machine) : simulation.run(held_clock_share(condition, machine.gpu));
  Trace trace = simulation.trace(attempt);
  if (attempt.is_power_limited) {
    for (Span& span : trace.spans)
      if (span.limit == Limit::compute) span.limit = Limit::power;
    if (trace.limited_by == Limit::compute) trace.limited_by = Limit::power;
  }
  trace.source = "predicted";
  if (statistics != nullptr) *statistics = simulation.statistics(attempt);
  if (tracks != nullptr) *tracks = simulation.tracks(attempt);
  return trace;
}

double SimulatedExecutor::clock_of_mix_MHz(const std::vector<Schedule>& schedules, const Machine& full_machine) const {
  const Machine machine = without(options_.mechanisms, full_machine);
  if (!options_.mechanisms.power) return machine.gpu.max_clock_MHz;
  return clock_share_of_mix(mix_of(schedules, machine, options_), machine.power) * machine.gpu.max_clock_MHz;
}

double SimulatedExecutor::clock_at_mean_MHz(const std::vector<Schedule>& schedules, const Machine& full_machine,
                                            double mean_MHz) const {
  const double max_MHz = full_machine.gpu.max_clock_MHz;
  if (!options_.mechanisms.power) return max_MHz;
  Machine machine = without(options_.mechanisms, full_machine);
  machine.condition.is_of_mix = true;
  return clock_share_of_mean(mix_of(schedules, machine, options_), mean_MHz / max_MHz) * max_MHz;
}

Trace simulate(const Schedule& schedule, const Machine& machine, const SimulationOptions& options) {
  return SimulatedExecutor(options).run(schedule, machine, nullptr);
}

}  // namespace weft::sim
