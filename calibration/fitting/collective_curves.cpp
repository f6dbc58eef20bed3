#include "calibration/fitting/collective_curves.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "calibration/fitting/protocol_change.hpp"
#include "models/base/statistics.hpp"
#include "models/execution/execution_error.hpp"

namespace weft::calibration::fitting {
namespace {

using Launch = std::pair<int, int>;  // CTAs, cluster

/// NCCL asks for clusters of four CTAs and takes smaller ones where the count cannot be divided.
int cluster_for(int ctas) { return ctas % 4 == 0 ? 4 : ctas % 2 == 0 ? 2 : 1; }

/// The largest launch of all that were recorded where `is_meant` holds: small collectives take fewer CTAs.
template <class Predicate>
std::optional<Launch> largest(const std::vector<CtaObservation>& observations, const Predicate& is_meant) {
  std::vector<Launch> launches;
  for (const CtaObservation& one : observations)
    if (is_meant(one.setting)) launches.emplace_back(one.ctas, std::max(one.cluster, 1));
  if (launches.empty()) return std::nullopt;
  return *std::max_element(launches.begin(), launches.end());
}

int default_ctas(CollectiveSetting setting, const std::vector<CtaObservation>& observations,
                 const std::vector<CollectiveCurve>& known) {
  const auto same_gpus = [&](const CollectiveSetting& other) {
    return other == CollectiveSetting{setting.kind, setting.gpus, 0, setting.transport};
  };
  const auto any_gpus = [&](const CollectiveSetting& other) {
    return other.kind == setting.kind && other.max_ctas == 0 && other.transport == setting.transport;
  };
  if (const auto launch = largest(observations, same_gpus)) return launch->first;
  if (const auto launch = largest(observations, any_gpus)) return launch->first;
  for (const CollectiveCurve& curve : known)
    if (curve.kind == setting.kind && curve.max_ctas == 0 && curve.transport == setting.transport) return curve.ctas;
  throw ExecutionError("how many CTAs " + std::string(name_of(setting.kind)) +
                       " uses by default is unknown: expected a measurement with its kernels recorded");
}

Launch launch_of(const CollectiveSetting& setting, const std::vector<CtaObservation>& observations,
                 const std::vector<CollectiveCurve>& known) {
  if (setting.transport == Transport::nccl_copy_engine) return {0, 1};
  const auto same = [&](const CollectiveSetting& other) { return other == setting; };
  if (const auto launch = largest(observations, same)) return *launch;
  const int most = default_ctas(setting, observations, known);
  const int ctas = setting.max_ctas > 0 ? std::min(setting.max_ctas, most) : most;
  return {ctas, cluster_for(ctas)};
}

struct Sample {
  std::vector<double> times_us, kernels_us;
  int ctas = 0;
};

constexpr std::size_t neighbourhood = 4;  ///< sizes on each side
constexpr double usual = 0.3;

/// A low quantile of each value and its neighbours. What one graph takes beyond its kernel hardly depends on the size,
/// but is either some 8 us or some 20, drawn anew for each graph that is made: the lower is the more frequent.
std::vector<double> smoothed(const std::vector<double>& values) {
  std::vector<double> result;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t reach = std::min({neighbourhood, i, values.size() - 1 - i});
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(i - reach);
    result.push_back(order_statistic({first, first + static_cast<std::ptrdiff_t>(2 * reach + 1)}, usual));
  }
  return result;
}

/// A kernel lasts no longer than the time less the gap between graphs, and where none was recorded, as long. Recorded,
/// each is alone, and all-to-alls of some megabytes take up to a fifth longer than one after the other.
std::vector<CurvePoint> points_of(const std::map<Bytes, Sample>& samples, double collective_graph_gap_us) {
  std::vector<CurvePoint> points;
  std::vector<double> beyond_kernel_us;
  for (const auto& [bytes, sample] : samples) {
    const double time_us = median(sample.times_us);
    const double longest_us = std::max(0.0, time_us - collective_graph_gap_us);
    const double kernel_us = sample.kernels_us.empty() ? longest_us : std::min(median(sample.kernels_us), longest_us);
    points.push_back({bytes, kernel_us, 0, sample.ctas});
    beyond_kernel_us.push_back(time_us - kernel_us);
  }
  const std::vector<double> smooth_us = smoothed(beyond_kernel_us);
  for (std::size_t i = 0; i < points.size(); ++i) points[i].alone_us = points[i].kernel_us + smooth_us[i];
  return points;
}

}  // namespace

std::vector<CollectiveCurve> build_curves(const std::vector<CollectiveObservation>& observations,
                                          const std::vector<CtaObservation>& ctas,
                                          const std::vector<CollectiveCurve>& known, double collective_graph_gap_us) {
  std::map<CollectiveSetting, std::map<Bytes, Sample>> samples;
  for (const CollectiveObservation& one : observations) {
    Sample& sample = samples[one.setting][one.bytes];
    sample.times_us.push_back(one.time_us);
    if (one.kernel_us) sample.kernels_us.push_back(*one.kernel_us);
    sample.ctas = std::max(sample.ctas, one.ctas);
  }
  std::vector<CollectiveCurve> curves;
  for (const auto& [setting, by_size] : samples) {
    if (by_size.size() < 2) continue;
    const auto [count, cluster] = launch_of(setting, ctas, known);
    curves.push_back({setting.kind, setting.gpus, setting.max_ctas, count, cluster,
                      points_of(by_size, collective_graph_gap_us), setting.transport});
  }
  mark_protocol_changes(curves);
  return curves;
}

}  // namespace weft::calibration::fitting
