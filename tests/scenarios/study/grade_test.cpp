#include "scenarios/study/grade.hpp"

#include <gtest/gtest.h>

#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "scenarios/families/build.hpp"

namespace weft::scenarios::study {
namespace {

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

/// All measured but collectives.
ProfileGrades grades() {
  ProfileGrades grades{.gemm = Grade::measured, .launches = Grade::measured, .protocols = Grade::published};
  return grades;
}

TEST(Grade, IsThatOfTheWeakestNumbersBehindMoreThanATenthOfTheTime) {
  EXPECT_EQ(grade(4096, grades(), 400), Grade::published);  // some 150 us of all-reduce
  EXPECT_EQ(grade(4096, grades(), 1e5), Grade::measured);   // which is little of that
}

TEST(Grade, WeakNumbersCountTogetherWithWeakerOnes) {
  ProfileGrades both = grades();
  both.gemm = Grade::assumed;
  EXPECT_EQ(grade(64, both, 1000), Grade::published);  // next to no flops: only the all-reduce counts
  EXPECT_EQ(grade(8192, both, 1000), Grade::assumed);
}

TEST(Grade, OfCollectivesOverPeerMemoryIsTheirOwn) {
  const ScheduleChoice two_shot{.family = Serial{}, .collectives = Collectives::two_shot};
  ProfileGrades measured = grades();
  measured.two_shot = Grade::measured;
  EXPECT_EQ(grade(4096, measured, 400, two_shot, 2), Grade::measured);
  EXPECT_EQ(grade(4096, measured, 400, two_shot, 4), Grade::measured_alike);  // two GPUs were measured
  EXPECT_EQ(grade(4096, grades(), 400, two_shot, 2), Grade::assumed);
}

}  // namespace
}  // namespace weft::scenarios::study
