#include "sim/simulated_executor.hpp"

#include <algorithm>
#include <cmath>

#include "sim/critical_path.hpp"
#include "sim/energy.hpp"
#include "sim/program.hpp"
#include "sim/simulated_machine.hpp"

namespace weft::sim {
namespace {

constexpr int most_iterations = 12;
constexpr double agreement = 1e-3;  // of an iteration's time
constexpr int most_clock_steps = 8;

ProgramTiming timing_of(const Schedule& schedule, const Machine& machine, const Mechanisms& mechanisms) {
  const Latencies& latencies = machine.latencies;
  ProgramTiming timing;
  timing.barrier = from_us(latencies.barrier_us);
  timing.signal = from_us(latencies.signal_us);
  if (!mechanisms.gaps) return timing;
  const bool graph = schedule.launch == Launch::graph;
  timing.chain_gap = from_us(graph ? latencies.kernel_gap_us : latencies.eager_gap_us);
  timing.cross_gap = from_us(graph ? latencies.dependency_gap_us : latencies.eager_event_us);
  timing.iteration_gap = from_us(graph ? latencies.graph_gap_us : latencies.eager_gap_us);
  timing.root_stagger = from_us(graph ? latencies.graph_root_stagger_us : 0);
  timing.host_launch = from_us(graph ? 0 : latencies.eager_launch_us);
  return timing;
}

/// One run of some iterations at one clock.
struct Attempt {
  double time_us = 0;
  bool steady = false;
  Trace trace;
  SimulationStatistics statistics;
};

class Runner {
 public:
  Runner(const Schedule& schedule, const Machine& machine, const SimulationOptions& options)
      : schedule_(schedule),
        machine_(machine),
        options_(options),
        ranks_(ranks_are_alike(schedule) ? 1 : schedule.gpus),
        timing_(timing_of(schedule, machine, options.mechanisms)),
        costs_(operation_costs(schedule, machine, options.mechanisms.l2_reuse)),
        energy_uJ_(dynamic_energy_uJ(schedule, machine, costs_)) {}

  /// Mean power of an iteration over the limit.
  double excess(const Attempt& attempt) const {
    return mean_power_W(machine_.power, energy_uJ_, attempt.statistics.clock_share, attempt.time_us) /
           machine_.power.limit_W;
  }

  Attempt run(double clock_share) const {
    // With equal ranks and no host in the way an iteration starts from rest: the first is as good as any.
    if (ranks_ == 1 && schedule_.launch == Launch::graph) return run_iterations(1, clock_share);
    for (int iterations = 3;; iterations *= 2) {
      Attempt attempt = run_iterations(std::min(iterations, most_iterations), clock_share);
      if (attempt.steady || iterations >= most_iterations) return attempt;
    }
  }

 private:
  Attempt run_iterations(int iterations, double clock_share) const {
    Engine engine;
    SimulatedMachine device(engine, machine_, schedule_, costs_, ranks_, clock_share, options_.mechanisms.contention);
    Program program(engine, device, schedule_, timing_, ranks_, iterations);
    program.run();

    Attempt attempt;
    const auto period_us = [&](int rank, int iteration) {
      return to_us(program.end_of(rank, iteration) + timing_.iteration_gap - program.begin_of(rank, iteration));
    };
    double before_us = 0;
    for (int rank = 0; rank < ranks_; ++rank) {
      attempt.time_us = std::max(attempt.time_us, period_us(rank, iterations - 1));
      if (iterations > 1) before_us = std::max(before_us, period_us(rank, iterations - 2));
    }
    attempt.steady = iterations == 1 || std::abs(before_us - attempt.time_us) <= agreement * attempt.time_us;
    attempt.trace = trace_of(program, schedule_, ranks_, iterations - 1, options_.spans);
    attempt.trace.machine = machine_.name;
    attempt.statistics = {.events = engine.events(),
                          .plans = device.pool().plans(),
                          .peak_load = device.pool().peak_load(),
                          .iterations = iterations,
                          .ranks = ranks_,
                          .clock_share = clock_share};
    return attempt;
  }

  const Schedule& schedule_;
  const Machine& machine_;
  const SimulationOptions& options_;
  const int ranks_;
  const ProgramTiming timing_;
  const std::vector<OperationCost> costs_;
  const double energy_uJ_;
};

}  // namespace

bool ranks_are_alike(const Schedule& schedule) {
  return std::all_of(schedule.operations.begin(), schedule.operations.end(), [](const Operation& operation) {
    return std::visit(
        Overloaded{[](const Gemm& gemm) { return gemm.c.place == 0 && gemm.a.place == 0 && gemm.b.place == 0; },
                   [](const Copy& copy) { return copy.source.place == 0 && copy.destination.place == 0; },
                   [](const Signal& signal) { return signal.place == 0; }, [](const Barrier&) { return false; },
                   [](const auto&) { return true; }},
        operation.work);
  });
}

/// The governor is slower than an iteration, so the clock is one number: the highest at which the mean power of an
/// iteration stays within the limit. Power falls as the clock falls (the same work takes longer), so a bisection on the
/// clock, started from where the energy alone would put it, finds it.
Trace SimulatedExecutor::run(const Schedule& schedule, const Machine& machine, SimulationStatistics* statistics) const {
  const Runner runner(schedule, machine, options_);
  Attempt attempt = runner.run(1.0);
  if (options_.mechanisms.power && runner.excess(attempt) > 1) {
    double low = lowest_clock_share, high = 1;
    double clock_share = std::max(low, 1 / runner.excess(attempt));
    for (int step = 0; step < most_clock_steps; ++step) {
      attempt = runner.run(clock_share);
      const double over = runner.excess(attempt);
      if (std::abs(over - 1) < agreement) break;
      (over > 1 ? high : low) = clock_share;
      const double guess = clock_share / over;
      clock_share = guess > low && guess < high ? guess : (low + high) / 2;
    }
    for (Span& span : attempt.trace.spans)
      if (span.limit == Limit::compute) span.limit = Limit::power;
    if (attempt.trace.limited_by == Limit::compute) attempt.trace.limited_by = Limit::power;
  }
  attempt.trace.source = "predicted";
  attempt.trace.time_us = attempt.time_us;
  if (statistics != nullptr) *statistics = attempt.statistics;
  return attempt.trace;
}

}  // namespace weft::sim
