#include "calibration/evidence/draw.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "scenarios/case_json.hpp"
#include "tests/models/error_of.hpp"

namespace weft::calibration::evidence {
namespace draw_test {

using scenarios::Case;
using scenarios::case_from_json;
using scenarios::Decomposition;
using scenarios::GemmWorkload;
using scenarios::PairWorkload;
using scenarios::ScheduleChoice;
using scenarios::Serial;
using scenarios::Workload;

constexpr std::uint64_t seed = 20261121;

bool is_overlapped(const Case& one) { return !std::holds_alternative<Serial>(one.schedule.family); }

std::string question_of(const Case& one) { return one.id.substr(0, one.id.find('.')); }

/// A pair of each question that has one.
std::vector<Workload> pairs_of(const std::vector<Case>& cases) {
  std::map<std::string, Workload> pairs;
  for (const Case& one : cases)
    if (parts_of(one.workload)) pairs.emplace(question_of(one), one.workload);
  std::vector<Workload> workloads;
  for (const auto& [question, workload] : pairs) workloads.push_back(workload);
  return workloads;
}

double share(const std::vector<Workload>& workloads, const std::function<bool(const Workload&)>& holds) {
  return static_cast<double>(std::count_if(workloads.begin(), workloads.end(), holds)) /
         static_cast<double>(workloads.size());
}

class DrawnCases : public testing::TestWithParam<int> {
 protected:
  const std::vector<Case> cases = draw_cases(seed, GetParam());
};
INSTANTIATE_TEST_SUITE_P(, DrawnCases, testing::Values(2, 4, 8));

TEST_P(DrawnCases, AreTheSameForTheSameSeed) {
  EXPECT_EQ(cases, draw_cases(seed, GetParam()));
  EXPECT_NE(cases, draw_cases(seed + 1, GetParam()));
}

TEST_P(DrawnCases, CanBeReadBack) {
  for (const Case& one : cases) EXPECT_EQ(case_from_json(nlohmann::json::parse(to_json(one).dump())), one);
}

TEST_P(DrawnCases, AreMostlyOverlapped) { EXPECT_GE(std::count_if(cases.begin(), cases.end(), is_overlapped), 550); }

TEST_P(DrawnCases, OfOneQuestionStandTogetherWithASerialReference) {
  std::set<std::string> finished;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    EXPECT_EQ(finished.count(question_of(cases[i])), 0u) << cases[i].id;
    if (i + 1 < cases.size() && question_of(cases[i + 1]) != question_of(cases[i]))
      finished.insert(question_of(cases[i]));
    if (!is_overlapped(cases[i])) continue;
    EXPECT_TRUE(std::any_of(cases.begin(), cases.end(), [&](const Case& other) {
      return other.workload == cases[i].workload &&
             other.schedule == ScheduleChoice{Serial{}, 0, other.schedule.launch} &&
             other.schedule.launch == cases[i].schedule.launch;
    })) << cases[i].id;
  }
}

TEST_P(DrawnCases, AreBalancedInAThirdAndHaveFewRowsInAQuarter) {
  const std::vector<Workload> pairs = pairs_of(cases);
  EXPECT_GE(share(pairs,
                  [](const Workload& pair) {
                    const double ratio = rough_duration_ratio(*parts_of(pair), GetParam());
                    return 0.5 <= ratio && ratio <= 2;
                  }),
            1.0 / 3);
  EXPECT_GE(share(pairs, [](const Workload& pair) { return parts_of(pair)->gemm.m < 4096; }), 0.25);
}

TEST_P(DrawnCases, LeaveEveryChunkOfARankSixteenRows) {
  for (const Case& one : cases)
    if (const auto* decomposition = std::get_if<Decomposition>(&one.schedule.family)) {
      const std::int64_t unit = std::int64_t{one.gpus} * decomposition->chunks;
      const std::int64_t m = std::get<PairWorkload>(one.workload).m;
      EXPECT_EQ(m % unit, 0) << one.id;
      EXPECT_GE(m / unit, 16) << one.id;
    }
}

TEST_P(DrawnCases, FitIntoEightGibibytes) {
  for (const Workload& pair : pairs_of(cases)) {
    const auto [gemm, collective] = *parts_of(pair);
    const Bytes bytes = 2 * (gemm.m * gemm.k + gemm.n * gemm.k + gemm.m * gemm.n) + 2 * collective.bytes;
    EXPECT_LE(bytes, Bytes{8} << 30) << describe(pair);
  }
}

TEST(Draw, RefusesANumberOfGpusThatTheModelCannotBeCutInto) {
  EXPECT_EQ(error_of([] { draw_cases(seed, 3); }), "gpus: expected 2, 4 or 8, got 3");
}

// 2 x 1000 x 1000 x 700 operations at 700e6 a us: 2 us. Of 1.4e6 bytes half cross a port of 350e3 bytes a us, twice for
// an all-reduce: 2 and 4 us.
TEST(Draw, RoughDurationRatioIsThatOfTheTransfers) {
  const GemmWorkload gemm{1000, 1000, 700};
  EXPECT_DOUBLE_EQ(rough_duration_ratio({gemm, {CollectiveKind::reduce_scatter, 1'400'000}}, 2), 1);
  EXPECT_DOUBLE_EQ(rough_duration_ratio({gemm, {CollectiveKind::all_reduce, 1'400'000}}, 2), 0.5);
}

}  // namespace draw_test
}  // namespace weft::calibration::evidence
