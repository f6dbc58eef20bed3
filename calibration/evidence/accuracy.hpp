// Predictions against measurements.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "calibration/evidence/measurement_file.hpp"
#include "models/base/progress.hpp"
#include "models/machine/machine.hpp"
#include "sim/simulated_executor.hpp"

namespace weft::calibration::evidence {

struct Comparison {
  MeasuredCase measured;
  double predicted_us = 0;
  double low_us = 0, high_us = 0;
  double error() const { return predicted_us / measured.time_us - 1; }
  bool is_covered() const { return low_us <= measured.time_us && measured.time_us <= high_us; }
  double half_width() const { return (high_us - low_us) / 2 / predicted_us; }
};

/// Shares, not percents; errors are predicted / measured - 1.
struct Accuracy {
  std::size_t cases = 0;
  double mean = 0, median = 0, p90 = 0, p99 = 0, maximum = 0;  ///< of absolute errors
  double bias = 0;                                             ///< mean of signed errors
  double noise = 0;       ///< median spread of a case's repeats: (largest - smallest) / median
  double coverage = 0;    ///< share of measurements inside their interval
  double half_width = 0;  ///< median of half the intervals' width over the prediction
};

/// The case in the condition that it was measured in, in the graphs of its day, and with the kernels of the program
/// that measured it.
scenarios::Case in_its_condition(const MeasuredCase& one);

/// Cases that the simulator cannot do, and those that ran another program than is built today, are left out and counted
/// in `refused`.
std::vector<Comparison> compare(const std::vector<MeasuredCase>& measured, const Machine& machine, std::size_t& refused,
                                const sim::Mechanisms& mechanisms = {}, const Progress& progress = {});

Accuracy accuracy_of(const std::vector<Comparison>& comparisons);

using Groups = std::map<std::string, std::vector<Comparison>>;

/// By the name that each comparison is given; without a name it is left out.
Groups grouped(const std::vector<Comparison>& comparisons, const std::function<std::string(const Comparison&)>& name);

// Names for `grouped`.
std::string op_name(const Comparison& one);
std::string family_name(const Comparison& one);  ///< with the number of chunks
std::string gpus_name(const Comparison& one);
std::string stratum_name(const Comparison& one);  ///< all three: "gemm+all_reduce | decomposition 4 | 2 GPUs"

bool is_overlapped(const Comparison& one);  ///< its schedule is not serial

}  // namespace weft::calibration::evidence
