// Under which conditions the cases behind a profile were measured: its section "conditions".
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <vector>

#include "calibration/evidence/measurement_file.hpp"

namespace weft::calibration::evidence {

struct RunConditions {
  std::set<std::string> dates;  ///< of each run's start
  std::set<std::string> gpus, drivers, cuda_versions, nccl_versions, cublaslt_versions;
  std::set<double> max_sm_clocks_MHz, power_limits_W;
  std::vector<double> noises;         ///< of cases with repeats
  std::vector<double> sm_clocks_MHz;  ///< where they are known

  void add(const MeasuredCase& one);
};

/// {"first_run", "last_run", "gpu": […], "driver": […], "cuda", "nccl", "cublaslt", "max_sm_clock", "power_limit",
/// "sm_clock", "repeat_noise"}: the last two as 5 %, 50 % and 95 % of the cases, absent where no line says them.
nlohmann::ordered_json to_json(const RunConditions& conditions);

}  // namespace weft::calibration::evidence
