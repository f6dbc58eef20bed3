// The simulated executor: a schedule and a machine in, a trace out.
#pragma once

#include "models/execution/executor.hpp"
#include "models/execution/timeline.hpp"
#include "sim/simulation_options.hpp"

namespace weft::sim {

/// Counts of a run, for benchmarks and tests.
struct SimulationStatistics {
  std::uint64_t events = 0;
  std::uint64_t plans = 0;  ///< of shared rates
  double peak_load = 0;     ///< of any shared resource, over its capacity
  int iterations = 0;
  int ranks = 0;           ///< simulated: 1 when all are the same
  double clock_share = 1;  ///< that the power limit left; the highest, where operations have clocks of their own
};

class SimulatedExecutor : public Executor {
 public:
  explicit SimulatedExecutor(SimulationOptions options = {}) : options_(options) {}

  /// Steady-state iteration. Throws InputError for what the simulator cannot run and ExecutionError for a deadlock.
  /// Thread-safe: runs share nothing.
  Trace run(const Schedule& schedule, const Machine& machine) override { return run(schedule, machine, nullptr); }
  Trace run(const Schedule& schedule, const Machine& machine, SimulationStatistics* statistics) const;
  /// The same with what each GPU's units did meanwhile, and what waited for what: the iteration is simulated twice.
  Timeline observe(const Schedule& schedule, const Machine& machine) const;
  /// The SM clock in MHz that these schedules find when they take turns under one sustained load (sim/mix_clock.hpp);
  /// the highest where nothing holds it back. At least one schedule.
  double clock_of_mix_MHz(const std::vector<Schedule>& schedules, const Machine& machine) const;
  /// The same where their mean clock over the turns has been measured: that of the tensor cores' phases, at which such
  /// schedules are asked about (RunCondition::is_of_mix).
  double clock_at_mean_MHz(const std::vector<Schedule>& schedules, const Machine& machine, double mean_MHz) const;
  /// clock_of_mix_MHz() to hand on to a study, as long as this executor lives.
  auto mix_clock() const {
    return [this](const std::vector<Schedule>& schedules, const Machine& machine) {
      return clock_of_mix_MHz(schedules, machine);
    };
  }

 private:
  Trace run(const Schedule& schedule, const Machine& machine, SimulationStatistics* statistics,
            std::vector<Track>* tracks) const;

  SimulationOptions options_;
};

/// One run by an executor with these options.
Trace simulate(const Schedule& schedule, const Machine& machine, const SimulationOptions& options = {});

/// True when every rank does the same at the same time: nothing crosses between ranks but collectives, which end
/// everywhere at once whatever links they load.
bool ranks_are_alike(const Schedule& schedule);

}  // namespace weft::sim
