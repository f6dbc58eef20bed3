// Measured times of GEMMs and collectives alone, beside the pairs that they are parts of.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "calibration/evidence/measurement_file.hpp"

namespace weft::calibration::evidence {

class PartsAlone {
 public:
  explicit PartsAlone(const std::vector<MeasuredCase>& measured);

  /// What the pair's own run measured; nothing for a workload that is no pair.
  scenarios::Measured of(const MeasuredCase& pair) const;

 private:
  std::map<std::string, double> time_us_;  ///< by run, GPUs and workload
};

/// The pairs of which both parts were measured, each asked with their times given.
std::vector<MeasuredCase> with_parts_given(const std::vector<MeasuredCase>& measured);

}  // namespace weft::calibration::evidence
