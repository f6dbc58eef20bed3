#include "calibration/evidence/duration_ratio.hpp"

#include "scenarios/parts.hpp"
#include "scenarios/study/prediction.hpp"
#include "sim/simulated_executor.hpp"

namespace weft::calibration::evidence {

double DurationRatios::of(const MeasuredCase& pair) {
  const auto predicted_us = [&](const scenarios::Workload& part) {
    const int gpus = pair.request.gpus;
    const auto [known, is_new] = predicted_us_.try_emplace(describe(part) + " " + std::to_string(gpus));
    sim::SimulatedExecutor executor(sim::times_only);
    if (is_new)
      known->second =
          scenarios::study::predict({"", gpus, part, {}, {}}, machine_, executor, {.serial = false}).time_us;
    return known->second;
  };
  const scenarios::Parts parts = *scenarios::parts_of(pair.request.workload);
  const scenarios::Measured measured = parts_.of(pair);
  return (measured.gemm_us ? *measured.gemm_us : predicted_us(parts.gemm)) /
         (measured.collective_us ? *measured.collective_us : predicted_us(parts.collective));
}

std::string DurationRatios::class_of(const Comparison& one) {
  if (!is_overlapped(one) || !scenarios::parts_of(one.measured.request.workload)) return "";
  const double ratio = of(one.measured);
  if (ratio < 0.5) return "0 to 0.5";
  if (ratio < 0.8) return "0.5 to 0.8";
  if (ratio < 1.25) return "0.8 to 1.25";
  if (ratio < 2) return "1.25 to 2";
  return "2 and more";
}

}  // namespace weft::calibration::evidence
