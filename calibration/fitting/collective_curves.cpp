#include "calibration/fitting/collective_curves.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "calibration/statistics.hpp"
#include "models/executor.hpp"

namespace weft::calibration {
namespace {

using Launch = std::pair<int, int>;  // CTAs, cluster

/// NCCL asks for clusters of four CTAs and takes smaller ones where the count cannot be divided.
int cluster_for(int ctas) { return ctas % 4 == 0 ? 4 : ctas % 2 == 0 ? 2 : 1; }

/// The launch in the middle of all that were recorded where `is_meant` holds.
template <class Predicate>
std::optional<Launch> middle(const std::vector<CtaObservation>& observations, const Predicate& is_meant) {
  std::vector<Launch> launches;
  for (const CtaObservation& one : observations)
    if (is_meant(one.setting)) launches.emplace_back(one.ctas, std::max(one.cluster, 1));
  if (launches.empty()) return std::nullopt;
  std::sort(launches.begin(), launches.end());
  return launches[launches.size() / 2];
}

int default_ctas(CollectiveSetting setting, const std::vector<CtaObservation>& observations,
                 const std::vector<CollectiveCurve>& known) {
  const auto same_gpus = [&](const CollectiveSetting& other) {
    return other == CollectiveSetting{setting.kind, setting.gpus, 0};
  };
  const auto any_gpus = [&](const CollectiveSetting& other) {
    return other.kind == setting.kind && other.max_ctas == 0;
  };
  if (const auto launch = middle(observations, same_gpus)) return launch->first;
  if (const auto launch = middle(observations, any_gpus)) return launch->first;
  for (const CollectiveCurve& curve : known)
    if (curve.kind == setting.kind && curve.max_ctas == 0) return curve.ctas;
  throw ExecutionError("how many CTAs " + std::string(name_of(setting.kind)) +
                       " uses by default is unknown: expected a measurement with its kernels recorded");
}

Launch launch_of(const CollectiveSetting& setting, const std::vector<CtaObservation>& observations,
                 const std::vector<CollectiveCurve>& known) {
  const auto same = [&](const CollectiveSetting& other) { return other == setting; };
  if (const auto launch = middle(observations, same)) return *launch;
  const int most = default_ctas(setting, observations, known);
  const int ctas = setting.max_ctas > 0 ? std::min(setting.max_ctas, most) : most;
  return {ctas, cluster_for(ctas)};
}

}  // namespace

std::vector<CollectiveCurve> build_curves(const std::vector<CollectiveObservation>& observations,
                                          const std::vector<CtaObservation>& ctas,
                                          const std::vector<CollectiveCurve>& known, double graph_gap_us) {
  std::map<CollectiveSetting, std::map<Bytes, std::vector<double>>> times;
  for (const CollectiveObservation& one : observations) times[one.setting][one.bytes].push_back(one.time_us);
  std::vector<CollectiveCurve> curves;
  for (const auto& [setting, by_size] : times) {
    if (by_size.size() < 2) continue;
    const auto [count, cluster] = launch_of(setting, ctas, known);
    CollectiveCurve curve{setting.kind, setting.gpus, setting.max_ctas, count, cluster, {}};
    for (const auto& [bytes, measured] : by_size)
      curve.points.push_back({bytes, std::max(0.0, median(measured) - graph_gap_us)});
    curves.push_back(std::move(curve));
  }
  return curves;
}

}  // namespace weft::calibration
