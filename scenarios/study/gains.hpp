// What overlap promises, pattern by pattern: the curves and the heat map of a report.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/study/exploration.hpp"

namespace weft::scenarios::study {

/// One pattern at one size on so many GPUs, under the overlapped schedule of the highest expected gain, be it below 0.
struct Gain {
  std::string pattern;  ///< a pair, "whole layer", or plan_pattern
  int gpus = 1;
  std::int64_t size = 0;
  std::string schedule;               ///< in words
  double time_us = 0, serial_us = 0;  ///< predicted
  Odds odds;                          ///< shares of serial_us
  double best_gain = 0;               ///< share of serial_us in the best of twenty cases
  bool is_advised = false;            ///< else serial is
};

/// The layer as the verdict has it: its pairs overlapped as advised, or token splits, against the baseline.
inline constexpr const char* plan_pattern = "layer as advised";

/// By size, then by pattern; plans first, where layers were simulated. Answers without an overlapped schedule are left
/// out.
std::vector<Gain> gains_of(const Exploration& exploration, const Scenario& scenario, const Machine& machine);

}  // namespace weft::scenarios::study
