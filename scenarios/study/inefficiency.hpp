// The two losses by which FiCCO explains its schedules (section IV-A of the paper), for GEMMs and for transfers.
#pragma once

#include <mutex>
#include <utility>
#include <vector>

#include "models/machine/machine.hpp"
#include "models/schedule/schedule.hpp"
#include "scenarios/study/clock.hpp"
#include "scenarios/workload.hpp"

namespace weft::scenarios::study {

/// Ratios of times; 1 is no loss. A time of GEMMs is the sum of theirs, a time of transfers that in which at least one
/// is under way, both on GPU 0.
struct Inefficiency {
  double gemm_dil = 1, transfer_dil = 1;  ///< decomposition: all parts, without the other kind, over the whole
  double gemm_cil = 1, transfer_cil = 1;  ///< contention: the parts as they overlap, over the same parts alone
};

/// The parts beside each other, over the same parts alone.
struct Contention {
  double gemm = 1, transfer = 1;
};

/// Of cases of family ficco. The whole is the GEMM, and the transfer of whole shards by the same transport: simulated
/// once for all schedules that share it. All losses are of one clock, without the power limit.
class InefficiencyAccount {
 public:
  /// The machine must outlive this.
  InefficiencyAccount(const Machine& machine, Clock clock) : machine_(machine), clock_(std::move(clock)) {}
  /// From any thread. Throws InputError as build() does.
  Inefficiency of(const scenarios::Case& ficco);
  /// As the paper measures it (section IV-D): neither GEMMs nor transfers wait for the others, and the power limit
  /// holds for both together as for each alone. From any thread.
  Contention without_waits(const scenarios::Case& ficco) const;

 private:
  struct Times {
    double gemm_us = 0, transfer_us = 0;
  };
  Times times_of(const Schedule& schedule, bool has_power_limit) const;
  Times alone(const Schedule& schedule, bool has_power_limit) const;
  Times whole_of(const scenarios::Case& ficco);

  const Machine& machine_;
  Clock clock_;
  std::mutex adding_;
  std::vector<std::pair<Schedule, Times>> wholes_;
};

}  // namespace weft::scenarios::study
