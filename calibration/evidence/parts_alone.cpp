#include "calibration/evidence/parts_alone.hpp"

#include "scenarios/parts.hpp"

namespace weft::calibration::evidence {
namespace {

std::string key_of(const MeasuredCase& one, const scenarios::Workload& workload) {
  return one.run + " " + std::to_string(one.request.gpus) + " " + describe(workload);
}

}  // namespace

PartsAlone::PartsAlone(const std::vector<MeasuredCase>& measured) {
  for (const MeasuredCase& one : measured)
    if (one.request.schedule == scenarios::ScheduleChoice{}) time_us_[key_of(one, one.request.workload)] = one.time_us;
}

scenarios::Measured PartsAlone::of(const MeasuredCase& pair) const {
  const auto parts = scenarios::parts_of(pair.request.workload);
  if (!parts) return {};
  const auto time_us = [&](const scenarios::Workload& part) -> std::optional<double> {
    const auto found = time_us_.find(key_of(pair, part));
    return found == time_us_.end() ? std::nullopt : std::optional(found->second);
  };
  return {time_us(parts->gemm), time_us(parts->collective)};
}

std::vector<MeasuredCase> with_parts_given(const std::vector<MeasuredCase>& measured) {
  const PartsAlone parts(measured);
  std::vector<MeasuredCase> given;
  for (const MeasuredCase& one : measured)
    if (const scenarios::Measured times = parts.of(one); times.gemm_us && times.collective_us) {
      given.push_back(one);
      given.back().request.measured = times;
    }
  return given;
}

}  // namespace weft::calibration::evidence
