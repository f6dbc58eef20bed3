#include "calibration/fitting/protocol_change.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace weft::calibration::fitting {
namespace {

constexpr double noise =
    1.15;  // of one time over that of a neighbouring size; collectives alone repeat within 5 to 10 %
constexpr int least_curves = 3;

struct Bracket {
  Bytes low = 0, high = 0;
};

std::vector<Bracket> brackets_of(const CollectiveCurve& curve) {
  std::vector<Bracket> brackets;
  for (std::size_t i = 1; i < curve.points.size(); ++i) {
    const CurvePoint &low = curve.points[i - 1], &high = curve.points[i];
    const double more_bytes = static_cast<double>(high.bytes) / static_cast<double>(low.bytes);
    const double more_time = high.kernel_us / low.kernel_us;
    if (more_time * noise < 1 || more_time > more_bytes * noise) brackets.push_back({low.bytes, high.bytes});
  }
  return brackets;
}

/// The brackets of one curve have no more than an end in common, so as many cover a size as there are curves.
Bytes common_middle(const std::vector<Bracket>& brackets) {
  int most = 0;
  Bracket common;
  for (const Bracket& from : brackets) {
    Bracket shared{from.low, from.high};
    int covering = 0;
    for (const Bracket& other : brackets)
      if (other.low <= from.low && other.high > from.low) ++covering, shared.high = std::min(shared.high, other.high);
    if (covering > most) most = covering, common = shared;
  }
  if (most < least_curves) return 0;
  return std::llround(std::sqrt(static_cast<double>(common.low) * static_cast<double>(common.high)));
}

}  // namespace

void mark_protocol_changes(std::vector<CollectiveCurve>& curves) {
  const auto setting_of = [](const CollectiveCurve& curve) {
    const bool is_scatter = curve.kind == CollectiveKind::reduce_scatter;
    return std::tuple(curve.transport, is_scatter ? CollectiveKind::all_gather : curve.kind, curve.gpus);
  };
  std::map<std::tuple<Transport, CollectiveKind, int>, std::vector<Bracket>> brackets;
  for (const CollectiveCurve& curve : curves)
    for (const Bracket& bracket : brackets_of(curve)) brackets[setting_of(curve)].push_back(bracket);
  for (CollectiveCurve& curve : curves) curve.change_bytes = common_middle(brackets[setting_of(curve)]);
}

}  // namespace weft::calibration::fitting
