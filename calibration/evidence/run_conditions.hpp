// Under which conditions the cases behind a profile were measured: its section "conditions".
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "calibration/hardware.hpp"

namespace weft::calibration::evidence {

/// What a case's own line says about its measuring; empty where it does not.
struct CaseConditions {
  std::optional<double> noise;         ///< (largest - smallest) / median of the repeats
  std::optional<double> sm_clock_MHz;  ///< of GPU 0 after the last repeat
};

struct RunConditions {
  std::set<std::string> dates;  ///< of each run's start
  std::set<std::string> gpus, drivers, cuda_versions, nccl_versions, cublaslt_versions;
  std::set<double> max_sm_clocks_MHz, power_limits_W;
  std::vector<double> noises, sm_clocks_MHz;

  void add(const calibration::Conditions& run, const CaseConditions& one);
};

/// {"first_run", "last_run", "gpu": […], "driver": […], "cuda", "nccl", "cublaslt", "max_sm_clock", "power_limit",
/// "sm_clock", "repeat_noise"}: the last two as 5 %, 50 % and 95 % of the cases, absent where no line says them.
nlohmann::ordered_json to_json(const RunConditions& conditions);

}  // namespace weft::calibration::evidence
