// Predictions against measurements.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "models/machine.hpp"
#include "tools/measurement_file.hpp"

namespace weft::tools {

struct Comparison {
  MeasuredCase measured;
  double predicted_us = 0;
  double low_us = 0, high_us = 0;
  double error() const { return predicted_us / measured.time_us - 1; }
  bool is_covered() const { return low_us <= measured.time_us && measured.time_us <= high_us; }
};

/// Shares, not percents; errors are predicted / measured - 1.
struct Accuracy {
  std::size_t cases = 0;
  double mean = 0, median = 0, p90 = 0, maximum = 0;  ///< of absolute errors
  double bias = 0;                                    ///< mean of signed errors
  double noise = 0;     ///< median spread of a case's repeats: (largest - smallest) / median
  double coverage = 0;  ///< share of measurements inside their interval
};

/// Cases that the simulator cannot do are left out and counted in `refused`.
std::vector<Comparison> compare(const std::vector<MeasuredCase>& measured, const Machine& machine,
                                std::size_t& refused);

Accuracy accuracy_of(const std::vector<Comparison>& comparisons);

/// By op, family and GPU count ("gemm+all_reduce | decomposition | 4 GPUs"), and by the coarser parts of that.
std::map<std::string, std::vector<Comparison>> by_stratum(const std::vector<Comparison>& comparisons);

/// For each overlapped case whose serial one was compared too: measured over predicted speedup, - 1.
std::vector<double> speedup_residuals(const std::vector<Comparison>& comparisons);

/// Value below which `share` of the values lie; linear between order statistics. `values` must not be empty.
double quantile(std::vector<double> values, double share);

}  // namespace weft::tools
