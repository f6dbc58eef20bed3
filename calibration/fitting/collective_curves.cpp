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

struct Sample {
  std::vector<double> times_us, kernels_us;
  double time_us() const { return median(times_us); }
};

/// Below this multiple of the smallest size's time a graph may be bound by its launch.
constexpr double near_floor = 1.5;

/// Sets points and launch floor. What a collective takes beyond its kernel where no launch binds it (ranks that arrive
/// apart) is added to the kernels of the small ones.
void set_points(CollectiveCurve& curve, const std::map<Bytes, Sample>& samples, double graph_gap_us) {
  const double smallest_us = samples.begin()->second.time_us();
  const auto is_near_floor = [&](const Sample& sample) { return sample.time_us() < near_floor * smallest_us; };
  std::vector<double> beyond_kernel_us;
  bool has_small_kernels = false;
  for (const auto& [bytes, sample] : samples) {
    if (sample.kernels_us.empty()) continue;
    has_small_kernels |= is_near_floor(sample);
    if (!is_near_floor(sample)) beyond_kernel_us.push_back(sample.time_us() - graph_gap_us - median(sample.kernels_us));
  }
  const bool knows_kernels = has_small_kernels && !beyond_kernel_us.empty();
  if (knows_kernels) curve.launch_floor_us = smallest_us;
  for (const auto& [bytes, sample] : samples) {
    double point_us = std::max(0.0, sample.time_us() - graph_gap_us);
    if (knows_kernels && is_near_floor(sample)) {
      if (sample.kernels_us.empty()) continue;
      point_us = std::min(point_us, median(sample.kernels_us) + std::max(0.0, median(beyond_kernel_us)));
    }
    curve.points.push_back({bytes, point_us});
  }
}

}  // namespace

std::vector<CollectiveCurve> build_curves(const std::vector<CollectiveObservation>& observations,
                                          const std::vector<CtaObservation>& ctas,
                                          const std::vector<CollectiveCurve>& known, double graph_gap_us) {
  std::map<CollectiveSetting, std::map<Bytes, Sample>> samples;
  for (const CollectiveObservation& one : observations) {
    Sample& sample = samples[one.setting][one.bytes];
    sample.times_us.push_back(one.time_us);
    if (one.kernel_us) sample.kernels_us.push_back(*one.kernel_us);
  }
  std::vector<CollectiveCurve> curves;
  for (const auto& [setting, by_size] : samples) {
    if (by_size.size() < 2) continue;
    const auto [count, cluster] = launch_of(setting, ctas, known);
    CollectiveCurve curve{setting.kind, setting.gpus, setting.max_ctas, count, cluster, {}, 0};
    set_points(curve, by_size, graph_gap_us);
    if (curve.points.size() >= 2) curves.push_back(std::move(curve));
  }
  return curves;
}

}  // namespace weft::calibration
