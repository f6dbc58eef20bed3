// Cases measured on the GPUs of this machine, into a measurement file.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "calibration/evidence/measurement_file.hpp"
#include "calibration/hardware.hpp"
#include "models/base/progress.hpp"
#include "models/execution/executor.hpp"
#include "models/machine/machine.hpp"

namespace weft::calibration::evidence {

struct MeasuringOptions {
  RunOptions run;
  bool in_turn = false;  ///< cases of one workload take turns every few milliseconds: their ratios are of one clock
};

class Measuring {
 public:
  /// Those of `requests` that the file does not hold. What a case leaves open is as `weft predict` finds it, with
  /// `simulator`. Cases that cannot be built or run get their line with "error" as soon as the others are run: where
  /// those are refused, nothing is written. Machine, file and simulator must outlive this.
  Measuring(const std::vector<scenarios::Case>& requests, const Machine& machine, const MeasuringOptions& options,
            MeasurementFileWriter& file, Executor& simulator);

  std::size_t to_measure() const { return cases_.size(); }
  std::size_t measured_before() const { return before_; }

  /// `progress` counts runs: with kernels every case runs twice. Throws as calibration::measure does, and
  /// ExecutionError where cases failed, or were refused.
  void run(const Progress& progress);

 private:
  void add_contest(const std::vector<scenarios::Case>& contest);
  bool add(const scenarios::Case& one);
  std::string first_of_mix(std::size_t index) const;
  void take(std::size_t index, Measurement measurement);
  void write_refused();
  std::size_t failures_of_runs(const Progress& progress);

  const Machine& machine_;
  MeasuringOptions options_;
  MeasurementFileWriter& file_;
  Executor& simulator_;
  std::size_t before_;
  std::vector<scenarios::Case> cases_;  ///< that are measured now, with their schedules
  std::vector<Schedule> schedules_;
  std::vector<std::pair<scenarios::Case, std::string>> refused_;  ///< and why
  std::vector<Mix> mixes_;                                        ///< positions in both
};

}  // namespace weft::calibration::evidence
