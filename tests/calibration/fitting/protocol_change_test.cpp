#include "calibration/fitting/protocol_change.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "tests/tools/shipped_profiles.hpp"

namespace weft::calibration::fitting {
namespace {

constexpr double changes_at = 2e6;

/// 5 us and 50 GB/s a CTA until `changes_at`, then 10 us and 100: with few CTAs the time falls there, with many it jumps
/// up. Sizes are a factor of 1.3 apart, and begin elsewhere for each limit.
CollectiveCurve curve_of(int max_ctas, double noise = 0) {
  CollectiveCurve curve{.kind = CollectiveKind::all_gather, .gpus = 2, .max_ctas = max_ctas, .ctas = max_ctas};
  double bytes = 1e5 * (1 + 0.02 * max_ctas);
  for (int i = 0; i < 20; ++i, bytes *= 1.3) {
    const bool is_small = bytes < changes_at;
    const double kernel_us = (is_small ? 5 : 10) + bytes / (max_ctas * (is_small ? 1e3 : 2e3));
    curve.points.push_back({static_cast<Bytes>(bytes), kernel_us * (i % 2 == 0 ? 1 : 1 + noise), 0, max_ctas});
  }
  return curve;
}

TEST(ProtocolChange, IsWhereTimesOfSeveralLimitsJump) {
  std::vector<CollectiveCurve> curves{curve_of(1), curve_of(2), curve_of(4), curve_of(24)};
  mark_protocol_changes(curves);
  EXPECT_NEAR(static_cast<double>(curves[0].change_bytes) / changes_at, 1, 0.15);
  for (const CollectiveCurve& curve : curves) EXPECT_EQ(curve.change_bytes, curves[0].change_bytes);
}

TEST(ProtocolChange, IsOfOneCollectiveOnAsManyGpus) {
  std::vector<CollectiveCurve> curves{curve_of(1), curve_of(2), curve_of(4)};
  curves[2].gpus = 4;
  mark_protocol_changes(curves);
  for (const CollectiveCurve& curve : curves) EXPECT_EQ(curve.change_bytes, 0);
}

TEST(ProtocolChange, IsNotToldByTwoCurvesOrByNoise) {
  std::vector<CollectiveCurve> two{curve_of(1), curve_of(2)};
  mark_protocol_changes(two);
  EXPECT_EQ(two[0].change_bytes, 0);
  std::vector<CollectiveCurve> noisy{curve_of(1, 0.1), curve_of(2, 0.1), curve_of(4, 0.1)};
  for (CollectiveCurve& curve : noisy)
    for (CurvePoint& point : curve.points) point.kernel_us = std::max(point.kernel_us, 100.0);
  mark_protocol_changes(noisy);
  EXPECT_EQ(noisy[0].change_bytes, 0);
}

TEST(ProtocolChange, FromBeforeIsForgotten) {
  std::vector<CollectiveCurve> curves{curve_of(1)};
  curves[0].change_bytes = 7;
  mark_protocol_changes(curves);
  EXPECT_EQ(curves[0].change_bytes, 0);
}

class ShippedCurves : public testing::TestWithParam<std::string> {};

TEST_P(ShippedCurves, SayWhereTheirOwnPointsJump) {
  const Machine machine = read_machine(machine_path(GetParam()));
  std::vector<CollectiveCurve> curves = machine.collectives;
  mark_protocol_changes(curves);
  for (std::size_t i = 0; i < curves.size(); ++i)
    EXPECT_EQ(machine.collectives[i].change_bytes, curves[i].change_bytes)
        << name_of(curves[i].kind) << " on " << curves[i].gpus << " GPUs";
}

INSTANTIATE_TEST_SUITE_P(Shipped, ShippedCurves, tests::shipped_profiles, tests::name_of_profile);

}  // namespace
}  // namespace weft::calibration::fitting
