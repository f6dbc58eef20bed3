// A schedule on a machine, simulated at one clock after another.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "models/execution/timeline.hpp"
#include "sim/copy_chains.hpp"
#include "sim/critical_path.hpp"
#include "sim/energy.hpp"
#include "sim/regime.hpp"
#include "sim/schedule_run.hpp"
#include "sim/simulated_executor.hpp"
#include "sim/simulated_machine.hpp"
#include "sim/sketch.hpp"

namespace weft::sim {

/// One run of some iterations at one clock.
struct Attempt {
  double time_us = 0;  ///< of an iteration
  double power_W = 0;  ///< mean over an iteration
  double clock_share = 1;
  std::vector<double> clock_shares = {};  ///< of tensor cores in each operation; empty: all have that one
  int iterations = 0;
  bool is_steady = false;
  bool is_launch_bound = false;
  bool is_power_limited = false;  ///< its clock is not the highest, but the one that the power limit allows
};

/// An iteration's power as the governor sees it, against its limits.
struct GovernedPower {
  double idle_W = 0, mean_W = 0, limit_W = 0;
  double peak_W = 0, peak_limit_W = 0;  ///< see peak_W(); a limit of 0: none, nor is it known
  /// Over the limit that is met first.
  double excess() const { return std::max(mean_W / limit_W, peak_limit_W > 0 ? peak_W / peak_limit_W : 0); }
};

class Simulation {
 public:
  /// Refers to its arguments.
  Simulation(const Schedule& schedule, const Machine& machine, const SimulationOptions& options);

  /// At `clock_share` of the maximum clock.
  Attempt run(double clock_share);
  /// With tensor cores at `clock_shares` of it in each operation.
  Attempt run_each_at(std::vector<double> clock_shares);
  /// What run() is taken for before there is one, at the maximum clock.
  Sketch sketch() const;
  /// statistics() will not be asked for.
  void leave_out_statistics();

  /// The tensor cores' share of the maximum clock, of an SM clock at `clock_share` of it.
  double tensor_clock_share(double clock_share) const;
  /// Nothing else draws so much that the clock is lowered.
  bool uses_tensor_cores() const { return energy_.uses_tensor_cores(); }
  const Power& power() const { return machine_.power; }
  /// Power of the last run as the governor sees it.
  GovernedPower governed_power(const Attempt& last, const PowerChanges& changes) const;
  /// Of a rank's operations in the last iteration of the last run.
  std::vector<PowerSpan> power_spans(const Attempt& last);
  /// Of the operations of an iteration with tensor cores at a share of the maximum clock.
  EnergyAtClock energy(double clock_share) const { return energy_.at(clock_share); }

  /// The SMs' share of the maximum clock where no tensor core works: the governor of a load that comes and goes lets it
  /// up there, but that of a GEMM which is repeated alone does not see its gaps.
  double clock_share_between(double clock_share) const;
  /// Of the maximum, as the SMs count cycles, over an iteration.
  double mean_clock_share(const Attempt& last);

  /// Of the last iteration of the last run.
  Trace trace(const Attempt& last);
  /// Runs that iteration once more, and says what the units of every GPU of the schedule did in it.
  std::vector<Track> tracks(const Attempt& last);
  SimulationStatistics statistics(const Attempt& last) const;

 private:
  Attempt run_at(double clock_share);
  Attempt run_race(double clock_share);
  Attempt run_adrift(double clock_share);
  double drifting_period_us(int last, int from) const;
  Attempt run_until_steady(double clock_share);
  void simulate(int iterations, double clock_share);
  Attempt run_iterations(int iterations, double clock_share, int mean_from = -1);
  Attempt attempt_of(int iterations, double clock_share, double time_us) const;
  double period_us(int rank, int iteration, int from) const;
  PowerSpan span_of(OperationId id, const Attempt& last, int rank, double energy_uJ);
  std::vector<PowerSpan> spans_of(const Attempt& last, int rank, Picoseconds origin);
  double tensor_time_us(const Attempt& last);
  std::vector<EnergyAtClock> energies(const Attempt& last) const;
  double repetition_floor_us() const;
  double exposed_launch_us(double time_us) const;

  const Schedule& schedule_;
  const Machine& machine_;
  const SimulationOptions& options_;
  const StreamOrder order_;
  const int ranks_;
  const Regime regime_;
  const std::vector<OperationCost> costs_;
  const bool are_only_copies_;  // by ranks that nothing holds in step
  const IterationEnergy energy_;
  Engine engine_;
  SimulatedMachine device_;
  ScheduleRun run_;
  std::vector<double> clock_shares_;  // of the operations, in run_each_at()
  std::optional<CopyChains> chains_;  // where the ranks do nothing else, and nobody asks how it was found
};

}  // namespace weft::sim
