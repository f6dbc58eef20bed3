// What weft calibrate writes of collectives is what weft predict answers, on the very sizes and limits of CTAs that
// were measured, on profiles of either kind: with protocols and without.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "calibration/evidence/calibration_profile.hpp"
#include "calibration/evidence/published_curves.hpp"
#include "calibration/fitting/collective_curves.hpp"
#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "tests/tools/shipped_profiles.hpp"

namespace weft::calibration::evidence {
namespace calibrated_curves_test {

constexpr int default_ctas = 20;  // no shipped profile has fewer SMs

/// Some 20 us and then 0.1 GB/s for each CTA, less than any fabric carries, with a kernel that is 4 us shorter than the
/// time from graph to graph. A limit of CTAs makes the first part longer too, as nothing but a curve of its own knows.
std::vector<fitting::CollectiveObservation> observations_of(fitting::CollectiveSetting setting) {
  const int ctas = setting.max_ctas > 0 ? setting.max_ctas : default_ctas;
  std::vector<fitting::CollectiveObservation> observations;
  for (const Bytes bytes : {Bytes{1} << 16, Bytes{1} << 20, Bytes{1} << 24, Bytes{1} << 28}) {
    const double kernel_us = 20 + 40.0 / ctas + static_cast<double>(bytes) / bytes_per_us(0.1 * ctas);
    observations.push_back({setting, bytes, kernel_us + 4, kernel_us, ctas});
  }
  return observations;
}

std::vector<CollectiveCurve> calibrated_curves() {
  std::vector<fitting::CollectiveObservation> observations;
  for (const auto& [kind, name] : NamesOf<CollectiveKind>::names)
    for (const int gpus : {2, 4, 8})
      for (const int max_ctas : {0, 1, 4, 16})
        for (const fitting::CollectiveObservation& one : observations_of({kind, gpus, max_ctas}))
          observations.push_back(one);
  std::vector<fitting::CtaObservation> launches;
  for (const auto& [kind, name] : NamesOf<CollectiveKind>::names) launches.push_back({{kind, 8, 0}, default_ctas, 4});
  return fitting::build_curves(observations, launches, {}, 4);
}

class CalibratedCurves : public testing::TestWithParam<std::string> {};

TEST_P(CalibratedCurves, AreMetByPredictions) {
  const auto path = machine_path(GetParam());
  nlohmann::ordered_json profile = read_profile(path);
  set_curves(profile, "collectives", calibrated_curves(), "measured: a test");
  const Machine machine = machine_from_json(profile, path.parent_path());
  for (const PublishedCurve& curve : published_curves(machine, ""))
    for (const PublishedPoint& point : curve.points)
      EXPECT_NEAR(predict(machine, curve, point.bytes).time_us / point.time_us, 1, 1e-3)
          << name_of(curve.kind) << " of " << point.bytes << " bytes on " << curve.gpus << " GPUs, max_ctas "
          << curve.max_ctas;
}

INSTANTIATE_TEST_SUITE_P(Shipped, CalibratedCurves, tests::shipped_profiles, tests::name_of_profile);

}  // namespace calibrated_curves_test
}  // namespace weft::calibration::evidence
