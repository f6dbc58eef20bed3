// Times of whole pairs that others published beside predictions: calibration/published/NAME.pairs.jsonl.gz.
#include <gtest/gtest.h>

#include <cmath>

#include "calibration/evidence/accuracy.hpp"
#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "tests/source_folder.hpp"

namespace weft::calibration::evidence {
namespace published_pairs_test {

std::vector<Comparison> published_pairs(const std::string& name) {
  std::size_t refused = 0;
  const auto comparisons =
      compare(read_measurements(tests::source_folder() + "/calibration/published/" + name + ".pairs.jsonl.gz"),
              read_machine(machine_path(name)), refused);
  EXPECT_EQ(refused, 0u);
  return comparisons;
}

// 20 rows of FlashOverlap's artifact, on 2, 4 and 8 A800s: none of the profile's numbers was fitted to them.
TEST(PublishedPairs, OfFlashOverlapAreMet) {
  const Groups by_family = grouped(published_pairs("a800x8-nvswitch"), family_name);
  ASSERT_EQ(by_family.size(), 3u);
  for (const auto& [family, comparisons] : by_family) ASSERT_EQ(comparisons.size(), 20u) << family;
  EXPECT_LT(accuracy_of(by_family.at("serial")).mean, 0.05);
  EXPECT_LT(accuracy_of(by_family.at("decomposition 2")).mean, 0.05);
  EXPECT_LT(accuracy_of(by_family.at("signaling")).mean, 0.06);
}

TEST(PublishedPairs, OfFlashOverlapGainWhatWasPublished) {
  const Groups by_family = grouped(published_pairs("a800x8-nvswitch"), family_name);
  const std::vector<Comparison>& serial = by_family.at("serial");
  const std::vector<Comparison>& signaling = by_family.at("signaling");
  double sum = 0;
  for (std::size_t row = 0; row < serial.size(); ++row)
    sum += std::abs((1 + serial[row].error()) / (1 + signaling[row].error()) - 1);
  EXPECT_LT(sum / static_cast<double>(serial.size()), 0.05);
}

}  // namespace published_pairs_test
}  // namespace weft::calibration::evidence
