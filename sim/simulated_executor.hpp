// The simulated executor: a schedule and a machine in, a trace out.
#pragma once

#include <array>
#include <string_view>

#include "models/executor.hpp"

namespace weft::sim {

/// Mechanisms that can be switched off, to see what each is worth.
struct Mechanisms {
  bool power = true;           ///< the governor lowers the clock
  bool l2_reuse = true;        ///< off: every operation finds an empty L2
  bool contention = true;      ///< off: HBM, L2 and ports carry everything at once
  bool gaps = true;            ///< off: operations follow one another at once
  bool governor_delay = true;  ///< off: the clock is lowered from the first iteration on
  bool residency = true;       ///< off: collectives take nothing of an SM
  bool slowdown = true;        ///< off: collectives keep their rate and latency beside a GEMM
  bool skew = true;            ///< off: ranks start, leave barriers and compute in lockstep

  bool operator==(const Mechanisms&) const = default;
};

struct NamedMechanism {
  std::string_view name;
  bool Mechanisms::*is_on;
};
inline constexpr std::array named_mechanisms{NamedMechanism{"power", &Mechanisms::power},
                                             NamedMechanism{"l2_reuse", &Mechanisms::l2_reuse},
                                             NamedMechanism{"contention", &Mechanisms::contention},
                                             NamedMechanism{"gaps", &Mechanisms::gaps},
                                             NamedMechanism{"governor_delay", &Mechanisms::governor_delay},
                                             NamedMechanism{"residency", &Mechanisms::residency},
                                             NamedMechanism{"slowdown", &Mechanisms::slowdown},
                                             NamedMechanism{"skew", &Mechanisms::skew}};
static_assert(sizeof(Mechanisms) == named_mechanisms.size(), "every mechanism has a name");

struct SimulationOptions {
  bool spans = true;  ///< record the last iteration's spans
  Mechanisms mechanisms;
};

/// Counts of a run, for benchmarks and tests.
struct SimulationStatistics {
  std::uint64_t events = 0;
  std::uint64_t plans = 0;  ///< of shared rates
  double peak_load = 0;     ///< of any shared resource, over its capacity
  int iterations = 0;
  int ranks = 0;           ///< simulated: 1 when all are the same
  double clock_share = 1;  ///< that the power limit left
};

class SimulatedExecutor : public Executor {
 public:
  explicit SimulatedExecutor(SimulationOptions options = {}) : options_(options) {}

  /// Steady-state iteration. Throws InputError for what the simulator cannot run and ExecutionError for a deadlock.
  /// Thread-safe: runs share nothing.
  Trace run(const Schedule& schedule, const Machine& machine) override { return run(schedule, machine, nullptr); }
  Trace run(const Schedule& schedule, const Machine& machine, SimulationStatistics* statistics) const;

 private:
  SimulationOptions options_;
};

/// True when every rank does the same at the same time: nothing crosses between ranks but collectives.
bool ranks_are_alike(const Schedule& schedule);

}  // namespace weft::sim
