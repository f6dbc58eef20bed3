#include "calibration/evidence/accuracy_targets.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/calibration/evidence/comparisons.hpp"

namespace weft::calibration::evidence {
namespace accuracy_targets_test {

TargetResult result_of(const Evidence& evidence, std::string_view row, Statistic statistic) {
  for (const TargetResult& one : target_results(evidence))
    if (one.row == row && one.statistic == statistic) return one;
  ADD_FAILURE() << "no target " << row;
  return {};
}

TEST(Targets, AreAllUnmetWithoutCases) {
  for (const TargetResult& one : target_results({})) {
    EXPECT_EQ(one.cases, 0u) << one.row;
    EXPECT_FALSE(one.is_met()) << one.row;
  }
}

TEST(Targets, AMeanErrorIsMetUpToItsBound) {
  Evidence evidence{
      .all = {comparison(pair_workload, two_chunks, 100, 103), comparison(pair_workload, two_chunks, 100, 97)},
      .given = {},
      .by_duration_ratio = {}};
  const TargetResult close = result_of(evidence, "pair, chunked", Statistic::mean);
  EXPECT_EQ(close.cases, 2u);
  EXPECT_NEAR(close.reached_percent, 3, 1e-9);
  EXPECT_TRUE(close.is_met());
  evidence.all.push_back(comparison(pair_workload, four_chunks, 100, 110));
  EXPECT_FALSE(result_of(evidence, "pair, chunked", Statistic::mean).is_met());
}

// 4096^3 x 2 is 1.4e11 operations; a quarter of the rows is below 1e11.
TEST(Targets, GemmsAreApartByTheirOperations) {
  const Evidence evidence{.all = {comparison(gemm_part, serial, 100, 101),
                                  comparison(scenarios::GemmWorkload{1024, 4096, 4096}, serial, 100, 104)},
                          .given = {},
                          .by_duration_ratio = {}};
  EXPECT_NEAR(result_of(evidence, "GEMM alone, from 1e11 operations", Statistic::mean).reached_percent, 1, 1e-9);
  EXPECT_NEAR(result_of(evidence, "GEMM alone, smaller", Statistic::mean).reached_percent, 4, 1e-9);
}

TEST(Targets, ACoverageHasToStayBelowAllToo) {
  Evidence evidence;
  for (int i = 0; i < 20; ++i) evidence.all.push_back(comparison(pair_workload, two_chunks, 100, 100));
  const std::string_view row = "coverage of 90 % intervals, by stratum";
  EXPECT_TRUE(result_of(evidence, row, Statistic::least).is_met());
  EXPECT_FALSE(result_of(evidence, row, Statistic::most).is_met());
}

TEST(Targets, AShareHasToReachItsBound) {
  const Evidence evidence{
      .all = {comparison(pair_workload, serial, 100, 100), comparison(pair_workload, two_chunks, 80, 90),
              comparison(pair_workload, four_chunks, 90, 101)},
      .given = {},
      .by_duration_ratio = {}};
  const TargetResult signs = result_of(evidence, "sign of speedups beyond 5 % right", Statistic::mean);
  EXPECT_NEAR(signs.reached_percent, 50, 1e-9);
  EXPECT_FALSE(signs.is_met());
}

}  // namespace accuracy_targets_test
}  // namespace weft::calibration::evidence
