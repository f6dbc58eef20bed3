// What a published curve says of a size that was left out of it: the line between its neighbours. The bound is what was
// found, rounded up: where a library changes its protocol or algorithm, no line is right. A time that was measured far
// too short or too long is far from it too.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "calibration/evidence/published_curves.hpp"
#include "models/cost/collective_model.hpp"
#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "tests/source_folder.hpp"

namespace weft::calibration::evidence {
namespace held_out_points_test {

/// The profile with this curve and no other.
Machine with_curve(Machine machine, const PublishedCurve& curve) {
  CollectiveCurve only{.kind = curve.kind, .gpus = curve.gpus, .max_ctas = curve.max_ctas, .ctas = 16, .points = {}};
  for (const PublishedPoint& point : curve.points) only.points.push_back({point.bytes, point.time_us, point.time_us});
  machine.collectives = {only};
  return machine;
}

/// Predicted over published, less 1, for each point between the first and the last, with all others known.
std::vector<double> errors_of_held_out(const Machine& machine, const PublishedCurve& curve) {
  std::vector<double> errors;
  for (std::size_t i = 1; i + 1 < curve.points.size(); ++i) {
    PublishedCurve rest = curve;
    rest.points.erase(rest.points.begin() + static_cast<std::ptrdiff_t>(i));
    const PublishedPoint& held_out = curve.points[i];
    errors.push_back(
        time_collective(with_curve(machine, rest), curve.kind, curve.gpus, held_out.bytes, curve.max_ctas).alone_us /
            held_out.time_us -
        1);
  }
  return errors;
}

struct Row {
  std::string profile;
  double mean, largest;  ///< of absolute errors, over all points of all curves
  friend std::ostream& operator<<(std::ostream& out, const Row& row) { return out << row.profile; }
};

class HeldOutPoints : public testing::TestWithParam<Row> {};

TEST_P(HeldOutPoints, LieNearTheLineBetweenTheirNeighbours) {
  const Machine machine = read_machine(machine_path(GetParam().profile));
  const auto left_out =
      std::filesystem::path(tests::source_folder()) / "calibration/published" / (GetParam().profile + ".csv");
  std::vector<double> errors;
  for (const PublishedCurve& curve : published_curves(machine, left_out))
    for (const double error : errors_of_held_out(machine, curve)) errors.push_back(error);
  const auto summary = summary_of(errors);
  ASSERT_TRUE(summary);
  EXPECT_LT(summary->mean, GetParam().mean);
  EXPECT_LT(std::abs(summary->largest), GetParam().largest);
}

INSTANTIATE_TEST_SUITE_P(Of, HeldOutPoints,
                         testing::Values(Row{"h200x8-nvswitch", 0.041, 1.6}, Row{"h200x8-nvswitch-nvls", 0.036, 0.27},
                                         Row{"h100x8-nvswitch", 0.051, 1.55}, Row{"h100x8-nvswitch-nvls", 0.035, 0.26},
                                         Row{"h100x8-hbm2e", 0.035, 0.26}, Row{"b200x8-nvswitch-nvls", 0.05, 0.4},
                                         Row{"a800x8-nvswitch", 0.047, 0.34}, Row{"a800x8-nvlink-pairs", 0.036, 0.33},
                                         Row{"rtx4090x8-pcie", 0.057, 0.21}, Row{"mi300x8-mesh", 0.027, 0.17}),
                         [](const testing::TestParamInfo<Row>& row) {
                           std::string name = row.param.profile;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace held_out_points_test
}  // namespace weft::calibration::evidence
