#include "calibration/evidence/parts_alone.hpp"

#include <gtest/gtest.h>

#include "tests/calibration/evidence/comparisons.hpp"

namespace weft::calibration::evidence {
namespace parts_alone_test {

TEST(PartsAlone, AreThoseOfThePairsOwnRun) {
  const MeasuredCase pair = measured_case(pair_workload, two_chunks, 300);
  const PartsAlone parts({pair, measured_case(gemm_part, serial, 200), measured_case(gemm_part, serial, 250, "run 2"),
                          measured_case(collective_part, serial, 150, "run 2")});
  EXPECT_EQ(parts.of(pair), (scenarios::Measured{200, std::nullopt}));
}

TEST(PartsAlone, ACollectiveWithFewerCtasIsAnother) {
  const MeasuredCase pair = measured_case(pair_workload, two_chunks, 300);
  const PartsAlone parts({measured_case(collective_part, {scenarios::Serial{}, 4}, 150)});
  EXPECT_EQ(parts.of(pair), scenarios::Measured{});
}

TEST(PartsAlone, OnlyPairsWithBothAreAskedAgain) {
  const MeasuredCase pair = measured_case(pair_workload, two_chunks, 300);
  const MeasuredCase gemm = measured_case(gemm_part, serial, 200);
  EXPECT_TRUE(with_parts_given({pair, gemm}).empty());
  const auto given = with_parts_given({pair, gemm, measured_case(collective_part, serial, 150)});
  ASSERT_EQ(given.size(), 1u);
  EXPECT_EQ(given[0].request.measured, (scenarios::Measured{200, 150}));
  EXPECT_EQ(given[0].time_us, 300);
}

}  // namespace parts_alone_test
}  // namespace weft::calibration::evidence
