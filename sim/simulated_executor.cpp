#include "sim/simulated_executor.hpp"

#include <algorithm>
#include <cmath>

#include "models/cost/governor.hpp"
#include "models/execution/timing_protocol.hpp"
#include "models/schedule/facts.hpp"
#include "sim/critical_path.hpp"
#include "sim/energy.hpp"
#include "sim/schedule_run.hpp"
#include "sim/simulated_machine.hpp"
#include "sim/skew.hpp"

namespace weft::sim {
namespace {

constexpr int most_iterations = 12;
constexpr int iterations_apart = 5;      // of ranks that meet: each differs, and their mean counts but for the first
constexpr int iterations_of_a_race = 6;  // of graphs whose first operations start in another order each time
constexpr int most_operations_adrift = 4000;  // of all ranks and iterations: some tens of ms to simulate
constexpr double agreement = 1e-3;            // of an iteration's time
constexpr int most_clock_steps = 8;

/// The machine without what is switched off and is a number of the profile.
Machine without(const Mechanisms& mechanisms, Machine machine) {
  if (!mechanisms.governor_delay) machine.power.governor_delay_ms = 0, machine.power.governor_ramp_ms = 1e-9;
  CollectiveKernel& kernel = machine.collective_kernel;
  if (!mechanisms.residency) kernel.threads_per_cta = kernel.registers_per_thread = 0, kernel.shared_memory_per_cta = 0;
  if (!mechanisms.slowdown) {
    kernel.cold_factor = 1;
    kernel.crowded_us = kernel.beside_gemm = kernel.memory_pressure = machine.gemm.beside_copies = 0;
  }
  if (!mechanisms.skew)
    machine.gpu.speed_spread = machine.latencies.barrier_skew_us = machine.latencies.start_skew_us =
        machine.copy_engines.setup_spread_us = machine.latencies.copy_gap_spread_us =
            machine.latencies.copy_fork_spread_us = machine.copy_engines.speed_spread = 0;
  return machine;
}

bool has_collectives(const Schedule& schedule) {
  return std::any_of(schedule.operations.begin(), schedule.operations.end(),
                     [](const Operation& operation) { return facts(operation.work).is_collective; });
}

bool holds_ranks_together(const Work& work) {
  return match(
      work, [](const OneOf<Collective, AllReduceNorm, GroupedExchange, Barrier, Wait> auto&) { return true; },
      [](const OneOf<Gemm, GroupedGemm, Copy, MemoryBound, Attention, PartialAttention, Signal, Delay> auto&) {
        return false;
      });
}

/// Ranks that neither meet at barriers nor in collectives.
bool ranks_drift(const Schedule& schedule) {
  return std::none_of(schedule.operations.begin(), schedule.operations.end(),
                      [](const Operation& operation) { return holds_ranks_together(operation.work); });
}

/// Kernels of the collective library hold their SMs on all ranks before any goes on.
bool is_library_collective(const Work& work) {
  return match(
      work, [](const Collective&) { return true; },
      [](const OneOf<Gemm, GroupedGemm, AllReduceNorm, GroupedExchange, Copy, MemoryBound, Attention, PartialAttention,
                     Signal, Wait, Barrier, Delay> auto&) { return false; });
}

/// In which share of launches a collective that begins a graph beside other operations starts first: on every rank at
/// once, as each must hold its SMs before any goes on. 0 where nothing races.
double starts_first(const Schedule& schedule, const CollectiveKernel& kernel) {
  std::vector<bool> has_begun(schedule.streams.size());
  int roots = 0, position = -1;
  for (const Operation& operation : schedule.operations) {
    if (!has_begun[operation.stream] && operation.after.empty()) {
      if (is_library_collective(operation.work)) position = roots;
      ++roots;
    }
    has_begun[operation.stream] = true;
  }
  if (schedule.launch != Launch::graph || roots < 2 || position < 0) return 0;
  const double on_a_rank = position == 0 ? kernel.created_first_wins : kernel.created_later_wins;
  double on_all = 1;
  for (int rank = 0; rank < schedule.gpus; ++rank) on_all *= on_a_rank;
  return on_all;
}

StreamTiming timing_of(const Schedule& schedule, const Machine& machine, const Mechanisms& mechanisms) {
  const Latencies& latencies = machine.latencies;
  StreamTiming timing;
  if (mechanisms.synchronisation) {
    timing.barrier = from_us(latencies.barrier_us);
    timing.signal = from_us(latencies.signal_us);
  }
  timing.barrier_skew = from_us(latencies.barrier_skew_us);
  for (int rank = 0; rank < schedule.gpus; ++rank)
    timing.start_skew.push_back(from_us(latencies.start_skew_us * lateness(rank, 0)));
  if (!mechanisms.gaps) return timing;
  const bool graph = schedule.launch == Launch::graph;
  timing.kernel_gap = from_us(graph ? latencies.kernel_gap_us : latencies.eager_gap_us);
  timing.collective_gap = from_us(graph ? latencies.collective_gap_us : latencies.eager_gap_us);
  timing.join_gap = from_us(graph ? latencies.join_gap_us : latencies.eager_event_us);
  timing.fork_gap = from_us(graph ? latencies.fork_gap_us : latencies.eager_event_us);
  const double graph_gap_us = has_collectives(schedule) ? latencies.collective_graph_gap_us : latencies.graph_gap_us;
  timing.iteration_gap = from_us(graph ? graph_gap_us : latencies.eager_gap_us);
  if (graph) {
    timing.before_copy_gap = from_us(latencies.before_copy_gap_us);
    timing.after_copy_gap = from_us(latencies.after_copy_gap_us);
    timing.copy_gap_spread = from_us(latencies.copy_gap_spread_us);
    timing.copy_fork_spread = from_us(latencies.copy_fork_spread_us);
    timing.copy_stream_gap = from_us(latencies.copy_stream_gap_us);
    timing.copy_gap = from_us(machine.copy_engines.turnaround_us);
  }
  timing.starts_first = starts_first(schedule, machine.collective_kernel);
  timing.host_launch = from_us(graph ? 0 : latencies.eager_launch_us);
  if (!graph)
    timing.hardware_queues = schedule.max_connections > 0 ? schedule.max_connections : machine.gpu.hardware_queues;
  return timing;
}

/// One run of some iterations at one clock.
struct Attempt {
  double time_us = 0;
  double clock_share = 1;
  int iterations = 0;
  bool is_steady = false;
  bool is_launch_bound = false;
};

/// A schedule on a machine, simulated at one clock after another.
class Simulation {
 public:
  Simulation(const Schedule& schedule, const Machine& machine, const SimulationOptions& options)
      : schedule_(schedule),
        machine_(machine),
        options_(options),
        ranks_(ranks_are_alike(schedule) ? 1 : schedule.gpus),
        order_(schedule, timing_of(schedule, machine, options.mechanisms)),
        costs_(costs_of(schedule, machine, options)),
        energy_uJ_(dynamic_energy_uJ(schedule, machine, costs_)),
        device_(engine_, machine, schedule, costs_, ranks_, 1.0, options.mechanisms),
        run_(engine_, device_, order_, ranks_) {
    if (!options.spans) device_.leave_out_details();
  }

  /// What the limit leaves for dynamic power over what an iteration takes: below 1 where the clock is too high.
  double slack(const Attempt& attempt) const {
    const Power& power = machine_.power;
    return (power.limit_W - power.idle_W) / (excess(attempt) * power.limit_W - power.idle_W);
  }
  /// Mean power of an iteration over the limit.
  double excess(const Attempt& attempt) const {
    return mean_power_W(machine_.power, energy_uJ_, attempt.time_us) / machine_.power.limit_W;
  }

  Attempt run(double clock_share) {
    // With equal ranks and no host in the way an iteration starts from rest: the first is as good as any.
    if (order_.timing().starts_first > 0) return run_iterations(iterations_of_a_race, clock_share, 0);
    if (ranks_ == 1 && schedule_.launch == Launch::graph) return run_iterations(1, clock_share);
    if (ranks_ > 1 && ranks_drift(schedule_)) return run_adrift(clock_share);
    if (ranks_ > 1 && schedule_.launch == Launch::graph) return run_iterations(iterations_apart, clock_share, 1);
    for (int iterations = 3;; iterations *= 2) {
      const Attempt attempt = run_iterations(std::min(iterations, most_iterations), clock_share);
      if (attempt.is_steady || iterations >= most_iterations) return attempt;
    }
  }

  /// Of the last iteration of the last run.
  Trace trace(const Attempt& last) {
    Trace trace = trace_of(run_, schedule_, ranks_, last.iterations - 1, options_.spans);
    if (last.is_launch_bound) trace.limited_by = Limit::launch;
    trace.machine = machine_.name;
    trace.time_us = last.time_us / schedule_.repeats_per_iteration;
    return trace;
  }
  SimulationStatistics statistics(const Attempt& last) const {
    return {.events = engine_.events(),
            .plans = device_.pool().plans(),
            .peak_load = device_.pool().peak_load(),
            .iterations = last.iterations,
            .ranks = ranks_,
            .clock_share = last.clock_share};
  }

 private:
  static std::vector<OperationCost> costs_of(const Schedule& schedule, const Machine& machine,
                                             const SimulationOptions& options) {
    std::vector<OperationCost> costs = operation_costs(schedule, machine, options.mechanisms.l2_reuse);
    for (std::size_t id = 0; id < options.given_us.size(); ++id) costs[id].given_us = options.given_us[id];
    return costs;
  }

  /// A graph does not repeat faster than with one of its collectives alone.
  double repetition_floor_us() const {
    double floor_us = 0;
    if (schedule_.launch == Launch::graph && options_.mechanisms.gaps)
      for (const OperationCost& cost : costs_) floor_us = std::max(floor_us, cost.collective.alone_us);
    return floor_us;
  }

  /// Nothing holds the ranks in step, so every iteration differs: the mean of a timed run's, or of the later half where
  /// it has more than are simulated.
  Attempt run_adrift(double clock_share) {
    const int launches = launches_for(run_ms * 1e3, run_iterations(1, clock_share).time_us);
    const int operations = ranks_ * static_cast<int>(schedule_.operations.size());
    const int iterations = std::min(launches, std::max(most_iterations, most_operations_adrift / operations));
    return run_iterations(iterations, clock_share, launches > iterations ? iterations / 2 : 0);
  }

  /// What the host needs to launch a graph with collectives beside other operations, where the iteration is too short
  /// to hide it.
  double exposed_launch_us(double time_us) const {
    if (schedule_.launch != Launch::graph || !options_.mechanisms.gaps || schedule_.operations.size() < 2 ||
        !has_collectives(schedule_))
      return 0;
    const Latencies& latencies = machine_.latencies;
    return std::clamp(latencies.short_graph_us - time_us, 0.0, latencies.short_graph_gap_us);
  }

  /// From the beginning of one iteration to that of the one after another, for each between them.
  double period_us(int rank, int iteration, int from) const {
    return to_us(run_.end_of(rank, iteration) + order_.timing().iteration_gap - run_.begin_of(rank, from)) /
           (iteration - from + 1);
  }

  /// The time is that of the last iteration, or the mean since iteration `mean_from` where one is named.
  Attempt run_iterations(int iterations, double clock_share, int mean_from = -1) {
    engine_.restart();
    device_.restart(clock_share);
    run_.prepare(iterations);
    run_.run();

    Attempt attempt{.clock_share = clock_share, .iterations = iterations};
    double before_us = 0;
    for (int rank = 0; rank < ranks_; ++rank) {
      const int last = iterations - 1;
      attempt.time_us = std::max(attempt.time_us, period_us(rank, last, mean_from >= 0 ? mean_from : last));
      if (iterations > 1) before_us = std::max(before_us, period_us(rank, last - 1, last - 1));
    }
    if (const double exposed_us = exposed_launch_us(attempt.time_us); exposed_us > 0) {
      attempt.time_us += exposed_us;
      before_us += exposed_us;
    }
    const double floor_us = repetition_floor_us();
    attempt.is_launch_bound = attempt.time_us < floor_us;
    attempt.time_us = std::max(attempt.time_us, floor_us);
    before_us = std::max(before_us, floor_us);
    attempt.is_steady = iterations == 1 || std::abs(before_us - attempt.time_us) <= agreement * attempt.time_us;
    return attempt;
  }

  const Schedule& schedule_;
  const Machine& machine_;
  const SimulationOptions& options_;
  const int ranks_;
  const StreamOrder order_;
  const std::vector<OperationCost> costs_;
  const double energy_uJ_;
  Engine engine_;
  SimulatedMachine device_;
  ScheduleRun run_;
};

/// The governor is slower than an iteration, so the clock is one number: the highest at which the mean power of an
/// iteration stays within the limit. With a longer cycle computation takes longer in proportion and the rest as long as
/// before, so 1 / dynamic power is nearly linear in the cycle: a secant, kept inside what is known, finds it in a few
/// runs.
Attempt at_power_limit(Simulation& simulation, Attempt attempt) {
  double shortest = 1, longest = 1 / lowest_clock_share;  // cycles, in those of the maximum clock
  double before = 1, slack_before = simulation.slack(attempt);
  double cycle = slack_before > 0 ? before / slack_before : longest;
  for (int step = 0; step < most_clock_steps; ++step) {
    cycle = std::min(cycle, longest);
    attempt = simulation.run(1 / cycle);
    if (std::abs(simulation.excess(attempt) - 1) < agreement || cycle == longest) break;
    const double slack = simulation.slack(attempt);
    (slack < 1 ? shortest : longest) = cycle;
    const double guess = cycle + (1 - slack) * (cycle - before) / (slack - slack_before);
    before = cycle;
    slack_before = slack;
    cycle = guess > shortest && guess < longest ? guess : (shortest + longest) / 2;
  }
  return attempt;
}

}  // namespace

bool ranks_are_alike(const Schedule& schedule) {
  return std::all_of(schedule.operations.begin(), schedule.operations.end(), [](const Operation& operation) {
    const Facts of_work = facts(operation.work);
    return !of_work.differs_by_rank && (of_work.is_collective || !of_work.crosses_ranks);
  });
}

Trace SimulatedExecutor::run(const Schedule& schedule, const Machine& full_machine,
                             SimulationStatistics* statistics) const {
  const Machine reduced = options_.mechanisms == Mechanisms{} ? Machine{} : without(options_.mechanisms, full_machine);
  const Machine& machine = options_.mechanisms == Mechanisms{} ? full_machine : reduced;
  Simulation simulation(schedule, machine, options_);
  Attempt attempt = simulation.run(1.0);
  const bool is_over_limit = options_.mechanisms.power && simulation.excess(attempt) > 1;
  if (is_over_limit) {
    const double share = throttled_share(machine.power, attempt.time_us);
    attempt = at_power_limit(simulation, attempt);
    if (share < 1) attempt = simulation.run(1 / (1 + share * (1 / attempt.clock_share - 1)));
  }
  Trace trace = simulation.trace(attempt);
  if (is_over_limit) {
    for (Span& span : trace.spans)
      if (span.limit == Limit::compute) span.limit = Limit::power;
    if (trace.limited_by == Limit::compute) trace.limited_by = Limit::power;
  }
  trace.source = "predicted";
  if (statistics != nullptr) *statistics = simulation.statistics(attempt);
  return trace;
}

}  // namespace weft::sim
