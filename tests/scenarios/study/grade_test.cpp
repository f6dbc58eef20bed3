#include "scenarios/study/grade.hpp"

#include <gtest/gtest.h>

#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "scenarios/families/build.hpp"
#include "scenarios/library/open_profile.hpp"
#include "scenarios/study/prediction.hpp"
#include "tests/schedule_parts.hpp"
#include "tests/simulator.hpp"

namespace weft::scenarios::study {
namespace grade_test {

const Machine& h200() {
  static const Machine machine = read_machine(machine_path("h200x8-nvswitch"));
  return machine;
}

Grade grade(std::int64_t k, const ProfileGrades& grades, double time_us, const ScheduleChoice& choice = {},
            int gpus = 4) {
  const Case request{.id = "",
                     .gpus = gpus,
                     .workload = PairWorkload{PairOp::gemm_all_reduce, 4096, 4096, k},
                     .schedule = choice,
                     .measured = {}};
  return grade_of(families::build(request, h200()), time_us, h200(), grades);
}

/// All measured but collectives, which are public.
ProfileGrades grades() {
  ProfileGrades grades{.gemm = Grade::measured, .small_gemm = Grade::measured, .launches = Grade::measured};
  for (const int gpus : {2, 4}) grades.collectives.push_back({CollectiveKind::all_reduce, gpus, Grade::published});
  return grades;
}

TEST(Grade, IsThatOfTheWeakestNumbersBehindMoreThanATenthOfTheTime) {
  EXPECT_EQ(grade(4096, grades(), 400), Grade::published);    // some 150 us of all-reduce
  EXPECT_EQ(grade(1 << 18, grades(), 1e4), Grade::measured);  // which is little beside so long a GEMM
}

TEST(Grade, WeakNumbersCountTogetherWithWeakerOnes) {
  ProfileGrades both = grades();
  both.gemm = Grade::assumed;
  EXPECT_EQ(grade(64, both, 1000), Grade::published);  // next to no flops: only the all-reduce counts
  EXPECT_EQ(grade(8192, both, 1000), Grade::assumed);
}

// Gaps on streams side by side pass at once.
TEST(Grade, CountsTheGapsOfOneStream) {
  ProfileGrades all{.hbm = Grade::measured, .launches = Grade::assumed};
  Schedule schedule;
  schedule.gpus = 2;
  schedule.streams = {{"s0"}, {"s1"}, {"s2"}, {"s3"}};
  for (int i = 0; i < 40; ++i) schedule.operations.push_back({"pause " + std::to_string(i), i % 4, {}, Delay{}});
  const double gaps_us = h200().latencies.graph_gap_us + 11 * h200().latencies.kernel_gap_us;
  const auto elements = static_cast<std::int64_t>(20 * gaps_us * bytes_per_us(h200().gpu.hbm_GBps) / 4);
  const Slice from = tests::add_buffer(schedule, "from", 1, elements),
              to = tests::add_buffer(schedule, "to", 1, elements);
  schedule.operations.push_back({"copy", 0, {}, Copy{from, to}});
  EXPECT_EQ(grade_of(schedule, 10.1 * gaps_us, h200(), all), Grade::measured);
  EXPECT_EQ(grade_of(schedule, 9.9 * gaps_us, h200(), all), Grade::assumed);
}

// Parts count by their peaks: what takes many times as long is as well founded as they are, and no better.
TEST(Grade, OfWhatTakesFarLongerThanItsPartsIsTheirs) {
  ProfileGrades weak = grades();
  weak.collectives.clear();
  EXPECT_EQ(grade(8192, weak, 1e6), Grade::assumed);
}

TEST(Grade, SaysWhichNumbersAreAssumedMostTimeFirst) {
  ProfileGrades both = grades();
  both.gemm = both.launches = Grade::assumed;
  const Case request{.id = "",
                     .gpus = 4,
                     .workload = PairWorkload{PairOp::gemm_all_reduce, 4096, 4096, 8192},
                     .schedule = {},
                     .measured = {}};
  const Schedule schedule = families::build(request, h200());
  const Evidence found = evidence_of(schedule, 600, h200(), both);
  EXPECT_EQ(found.grade, Grade::assumed);
  ASSERT_EQ(found.assumed.size(), 1u);  // a few microseconds of gaps decide nothing
  EXPECT_EQ(found.assumed[0].words, "the efficiency of GEMMs");
  EXPECT_EQ(found.assumed[0].measured_by, MeasuredBy::gemms);
  EXPECT_TRUE(evidence_of(schedule, 600, h200(), grades()).assumed.empty());
}

TEST(Grade, OfACollectiveWithoutACurveIsThatOfItsLatencyAndOfItsRate) {
  static const library::OpenProfile mesh("mi300x8-mesh");
  const auto evidence = [&](std::int64_t rows) {
    const Case request{.id = "",
                       .gpus = 8,
                       .workload = PairWorkload{PairOp::gemm_all_to_all, rows, 8192, 64},
                       .schedule = {},
                       .measured = {}};
    const Prediction prediction = predict(request, mesh.machine, tests::simulator());
    return evidence_of(prediction.schedule, prediction.time_us, mesh.machine, mesh.grades);
  };
  EXPECT_EQ(evidence(32768).grade, Grade::published);  // the rate decides
  EXPECT_EQ(evidence(64).grade, Grade::assumed);       // the latency does
}

TEST(Grade, OfCollectivesOverPeerMemoryIsTheirOwn) {
  const ScheduleChoice two_shot{.family = Serial{}, .collectives = Collectives::two_shot};
  ProfileGrades measured = grades();
  measured.two_shot = Grade::measured;
  EXPECT_EQ(grade(4096, measured, 400, two_shot, 2), Grade::measured);
  EXPECT_EQ(grade(4096, measured, 400, two_shot, 4), Grade::measured_alike);  // two GPUs were measured
  EXPECT_EQ(grade(4096, grades(), 400, two_shot, 2), Grade::assumed);
}

}  // namespace grade_test
}  // namespace weft::scenarios::study
