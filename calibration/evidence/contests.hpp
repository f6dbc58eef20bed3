// Contests: one workload that one run measured under several schedules. Was the right one chosen, and was its gain
// the one that was predicted?
#pragma once

#include <optional>
#include <vector>

#include "calibration/evidence/accuracy.hpp"

namespace weft::calibration::evidence {

struct Contest {
  std::vector<Comparison> schedules;  ///< in the order of the files
  std::optional<Comparison> serial;   ///< by the library, with its default number of CTAs
  bool has_choice() const;            ///< serial and something else
};

/// By workload, GPUs, way of launching and run. Layers without their communication take no part.
std::vector<Contest> contests_of(const std::vector<Comparison>& comparisons);

struct Speedup {
  double predicted = 1, measured = 1;  ///< over serial
  double error() const { return predicted / measured - 1; }
  bool has_right_sign() const { return (predicted > 1) == (measured > 1); }
};

/// Of each overlapped schedule whose contest has serial.
std::vector<Speedup> speedups_of(const std::vector<Contest>& contests);

/// 1 where the sign is right and 0 where not, of each speedup that was measured to be further than `share` from 1.
std::vector<double> right_signs_beyond(double share, const std::vector<Speedup>& speedups);

/// How much slower the measured time of what is taken is than that of the best schedule.
struct Regret {
  double of_choice = 0;  ///< taking the schedule predicted fastest
  double of_serial = 0;  ///< always taking serial
  double noise = 0;      ///< spread of the best schedule's repeats over their median
  bool is_negligible() const { return of_choice <= 0.01 + noise; }
};

/// Of each contest that has a choice; of equal predictions the first counts.
std::vector<Regret> regrets_of(const std::vector<Contest>& contests);

/// How far the ratio of two GEMMs alone is off, each with the next one of its run and GPU count: the state of the GPUs,
/// which no prediction knows, is nearly the same for both.
std::vector<double> gemm_ratio_errors(const std::vector<Comparison>& gemms);

}  // namespace weft::calibration::evidence
