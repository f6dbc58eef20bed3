#include "calibration/evidence/run_conditions.hpp"

#include <nlohmann/json.hpp>

#include "calibration/evidence/accuracy.hpp"
#include "calibration/evidence/calibration_profile.hpp"
#include "models/base/statistics.hpp"

namespace weft::calibration::evidence {
namespace {

using nlohmann::ordered_json;

void add_quantiles(ordered_json& json, const std::string& key, const std::vector<double>& values,
                   const std::string& unit, const std::string& what) {
  if (values.empty()) return;
  ordered_json quantiles = ordered_json::array();
  for (const double share : {0.05, 0.5, 0.95}) quantiles.push_back(rounded(quantile(values, share)));
  json[key] = {{"value", quantiles},
               {"unit", unit},
               {"source", "5 %, 50 % and 95 % of " + std::to_string(values.size()) + " cases: " + what}};
}

}  // namespace

void RunConditions::add(const MeasuredCase& one) {
  const Conditions& run = one.conditions;
  dates.insert(run.date);
  gpus.insert(run.gpu);
  drivers.insert(run.driver);
  cuda_versions.insert(run.cuda);
  nccl_versions.insert(run.nccl);
  cublaslt_versions.insert(run.cublaslt);
  max_sm_clocks_MHz.insert(run.max_sm_clock_MHz);
  power_limits_W.insert(run.power_limit_W);
  if (!one.repeats_us.empty()) noises.push_back(relative_spread(one.repeats_us));
  if (one.sm_clock_MHz > 0) sm_clocks_MHz.push_back(one.sm_clock_MHz);
}

ordered_json to_json(const RunConditions& conditions) {
  ordered_json json;
  json["first_run"] = conditions.dates.empty() ? "" : *conditions.dates.begin();
  json["last_run"] = conditions.dates.empty() ? "" : *conditions.dates.rbegin();
  json["gpu"] = conditions.gpus;
  json["driver"] = conditions.drivers;
  json["cuda"] = conditions.cuda_versions;
  json["nccl"] = conditions.nccl_versions;
  json["cublaslt"] = conditions.cublaslt_versions;
  json["max_sm_clock"] = {
      {"value", conditions.max_sm_clocks_MHz}, {"unit", "MHz"}, {"source", "NVML, at the start of each run"}};
  json["power_limit"] = {
      {"value", conditions.power_limits_W}, {"unit", "W"}, {"source", "NVML, at the start of each run"}};
  add_quantiles(json, "sm_clock", conditions.sm_clocks_MHz, "MHz",
                "of GPU 0 right after the last run, or, under load, the mean of the slowest GPU");
  add_quantiles(json, "repeat_noise", conditions.noises, "ratio", "(largest - smallest) / median of the repeats");
  return json;
}

}  // namespace weft::calibration::evidence
