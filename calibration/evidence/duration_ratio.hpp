// How the GEMM of a pair compares with its collective: overlap is hardest to predict where both take the same time.
#pragma once

#include <map>
#include <string>

#include "calibration/evidence/accuracy.hpp"
#include "calibration/evidence/parts_alone.hpp"

namespace weft::calibration::evidence {

class DurationRatios {
 public:
  DurationRatios(const std::vector<MeasuredCase>& measured, const Machine& machine)
      : parts_(measured), machine_(machine) {}

  /// Time of the GEMM alone over that of the collective alone: each as the pair's run measured it, else as predicted.
  /// The workload must be a pair.
  double of(const MeasuredCase& pair);

  /// The class of an overlapped pair, "0.8 to 1.25"; empty for all else.
  std::string class_of(const Comparison& one);

 private:
  PartsAlone parts_;
  const Machine& machine_;
  std::map<std::string, double> predicted_us_;  ///< of parts, by workload and GPUs
};

}  // namespace weft::calibration::evidence
