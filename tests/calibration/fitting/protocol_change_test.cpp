#include "calibration/fitting/protocol_change.hpp"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "models/base/gzip_file.hpp"
#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "tests/source_folder.hpp"
#include "tests/tools/shipped_profiles.hpp"

namespace weft::calibration::fitting {
namespace protocol_change_test {

constexpr double changes_at = 2e6;

/// 5 us and 50 GB/s a CTA until `changes_at`, then 10 us and 100: with few CTAs the time falls there, with many it
/// jumps up. Sizes are a factor of 1.3 apart, and begin elsewhere for each limit.
CollectiveCurve curve_of(int max_ctas) {
  CollectiveCurve curve{.kind = CollectiveKind::all_gather, .gpus = 2, .max_ctas = max_ctas, .ctas = max_ctas};
  double bytes = 1e5 * (1 + 0.02 * max_ctas);
  for (int i = 0; i < 20; ++i, bytes *= 1.3) {
    const bool is_small = bytes < changes_at;
    const double kernel_us = (is_small ? 5 : 10) + bytes / (max_ctas * (is_small ? 1e3 : 2e3));
    curve.points.push_back({static_cast<Bytes>(bytes), kernel_us, 0, max_ctas});
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

TEST(ProtocolChange, OfGathersIsThatOfReduceScatters) {
  std::vector<CollectiveCurve> curves{curve_of(1), curve_of(2), curve_of(4)};
  curves[0].kind = CollectiveKind::reduce_scatter;
  mark_protocol_changes(curves);
  for (const CollectiveCurve& curve : curves) EXPECT_GT(curve.change_bytes, 0);
  curves[0].kind = CollectiveKind::all_reduce;
  mark_protocol_changes(curves);
  for (const CollectiveCurve& curve : curves) EXPECT_EQ(curve.change_bytes, 0);
}

// Measured afterwards, at sizes around it: the time jumps between the two sizes on either side of what the curves say.
TEST(ProtocolChange, OfTheH200IsWhereItWasSeen) {
  const Machine machine = read_machine(machine_path("h200x8-nvswitch"));
  std::map<std::pair<CollectiveKind, int>, std::map<Bytes, double>> kernels_us;
  std::istringstream file(read_gzip_file(
      tests::source_folder() + "/calibration/measurements/protocol-change-2026-11-28/h200.jsonl.gz", "lines"));
  for (std::string line; std::getline(file, line);) {
    const nlohmann::json json = nlohmann::json::parse(line);
    if (!json.contains("collective")) continue;
    kernels_us[{from_name<CollectiveKind>(json["collective"].get<std::string>(), "collective"),
                json["max_ctas"].get<int>()}][json["bytes"].get<Bytes>()] = json["kernel_us"].get<double>();
  }
  ASSERT_EQ(kernels_us.size(), 12u);
  for (const auto& [setting, curve_us] : kernels_us) {
    const auto found = std::ranges::find_if(machine.collectives, [&](const CollectiveCurve& curve) {
      return curve.kind == setting.first && curve.gpus == 2 && curve.max_ctas == 0;
    });
    const auto after = curve_us.lower_bound(found->change_bytes);
    const double jump = after->second / std::prev(after)->second;
    EXPECT_TRUE(jump < 0.9 || jump > 1.05) << name_of(setting.first) << " by " << setting.second << " CTAs: " << jump;
  }
}

TEST(ProtocolChange, IsNotToldByTwoCurvesOrByNoise) {
  std::vector<CollectiveCurve> two{curve_of(1), curve_of(2)};
  mark_protocol_changes(two);
  EXPECT_EQ(two[0].change_bytes, 0);
  std::vector<CollectiveCurve> noisy{curve_of(1), curve_of(2), curve_of(4)};
  for (CollectiveCurve& curve : noisy)
    for (std::size_t i = 0; i < curve.points.size(); ++i) curve.points[i].kernel_us = i % 2 == 0 ? 10 : 11;
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

}  // namespace protocol_change_test
}  // namespace weft::calibration::fitting
