#include "calibration/evidence/accuracy.hpp"

#include <gmock/gmock.h>

#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "tests/calibration/evidence/comparisons.hpp"

namespace weft::calibration::evidence {
namespace accuracy_test {

TEST(Accuracy, OfNothingIsNoCase) { EXPECT_EQ(accuracy_of({}).cases, 0u); }

// Errors +20 %, -10 %, 0: absolute ones 0, 10, 20 %. Intervals of 10 % around 120, 90 and 100 hold 100 only in the last
// two: 108 to 132, 81 to 99, 90 to 110.
TEST(Accuracy, StatisticsAreThoseOfAbsoluteErrors) {
  std::vector<Comparison> comparisons{comparison(gemm_part, serial, 100, 120), comparison(gemm_part, serial, 100, 90),
                                      comparison(gemm_part, serial, 100, 100)};
  comparisons[0].measured.repeats_us = {95, 100, 105};
  const Accuracy accuracy = accuracy_of(comparisons);
  EXPECT_EQ(accuracy.cases, 3u);
  EXPECT_NEAR(accuracy.mean, 0.1, 1e-12);
  EXPECT_NEAR(accuracy.median, 0.1, 1e-12);
  EXPECT_NEAR(accuracy.p90, 0.18, 1e-12);
  EXPECT_NEAR(accuracy.p99, 0.198, 1e-12);
  EXPECT_NEAR(accuracy.maximum, 0.2, 1e-12);
  EXPECT_NEAR(accuracy.bias, 0.1 / 3, 1e-12);
  EXPECT_NEAR(accuracy.noise, 0.1, 1e-12);
  EXPECT_NEAR(accuracy.coverage, 1.0 / 3, 1e-12);
  EXPECT_NEAR(accuracy.half_width, 0.1, 1e-12);
}

TEST(MeasuredCases, ArePredictedInTheGraphsOfTheirDayAndOfTheirProgram) {
  MeasuredCase one = measured_case(pair_workload, two_chunks, 100);
  EXPECT_FALSE(in_its_condition(one).condition.memsets);  // not known when
  one.conditions.date = "2026-11-23T22:37:17Z";
  EXPECT_TRUE(in_its_condition(one).condition.memsets);
  one.conditions.date = "2026-11-24T00:17:06Z";
  EXPECT_FALSE(in_its_condition(one).condition.memsets);
  EXPECT_TRUE(in_its_condition(one).condition.warmed_on_all_streams);
  one.conditions.date = "2026-11-30T01:20:58Z";
  EXPECT_FALSE(in_its_condition(one).condition.warmed_on_all_streams);
  EXPECT_EQ(in_its_condition(one).schedule.implementation, Implementation::weft);
  one.conditions.torch = "2.11.0";
  EXPECT_EQ(in_its_condition(one).schedule.implementation, Implementation::pytorch);
}

/// Whether a case that was measured then is compared with what is predicted of today's kernels.
bool is_compared(const scenarios::Workload& workload, const std::string& date, int gpus = 1) {
  MeasuredCase one = measured_case(workload, serial, 100);
  one.request.gpus = gpus;
  one.conditions.date = date;
  std::size_t refused = 0;
  compare({one}, read_machine(machine_path("h200x8-nvswitch")), refused);
  return refused == 0;
}

TEST(MeasuredCases, OfAttentionByAKernelOfBeforeAreLeftOut) {
  scenarios::AttentionKernelWorkload attention{.tokens = 8, .heads = 8, .kv_heads = 1, .head_dim = 128, .sequences = 8};
  attention.prefix = 4096;
  EXPECT_FALSE(is_compared(attention, "2026-11-30T14:26:59Z")) << "few queries";
  EXPECT_TRUE(is_compared(attention, "2026-11-30T14:27:00Z"));
  attention.tokens = 24, attention.sequences = 1, attention.prefix = 50000;
  EXPECT_FALSE(is_compared(attention, "2026-11-30T08:59:59Z")) << "in more splits than one thread merges";
  EXPECT_TRUE(is_compared(attention, "2026-11-30T09:00:00Z"));
  attention.tokens = 2048, attention.prefix = 0;
  EXPECT_TRUE(is_compared(attention, "2026-11-28T00:00:00Z")) << "a prefill";
  const scenarios::AttentionWorkload short_heads{.tokens = 4096, .heads = 8, .kv_heads = 2, .head_dim = 64};
  EXPECT_FALSE(is_compared(short_heads, "2026-11-30T02:14:59Z", 2));
  EXPECT_TRUE(is_compared(short_heads, "2026-11-30T02:15:00Z", 2));
}

TEST(Accuracy, GroupsLeaveOutWhatHasNoName) {
  const std::vector<Comparison> comparisons{comparison(pair_workload, two_chunks, 1, 1),
                                            comparison(pair_workload, serial, 1, 1)};
  const Groups groups =
      grouped(comparisons, [](const Comparison& one) { return is_overlapped(one) ? stratum_name(one) : ""; });
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups.begin()->first, "gemm+all_reduce | decomposition 2 | 2 GPUs");
  EXPECT_EQ(groups.begin()->second.size(), 1u);
}

}  // namespace accuracy_test
}  // namespace weft::calibration::evidence
