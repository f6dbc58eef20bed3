#include "calibration/selftest_schedules.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "calibration/selftest_fp8.hpp"
#include "models/check/hardware_support.hpp"
#include "models/check/race_check.hpp"
#include "models/check/validation.hpp"

namespace weft::calibration {
namespace selftest_schedules_test {

TEST(SelftestSchedules, AreValidRunnableAndSayWhatTheyCompute) {
  for (const int gpus : {1, 2, 4, 8})
    for (const Schedule& schedule : all_schedules(gpus)) {
      EXPECT_NO_THROW(validate(schedule)) << schedule.name;
      EXPECT_NO_THROW(require_runnable(schedule)) << schedule.name;
      const bool is_layer = schedule.family == "token_split";  // the meaning of norms is in no reference
      EXPECT_TRUE(schedule.meaning || is_layer) << schedule.name;
    }
}

TEST(SelftestSchedules, AreFreeOfRaces) {
  for (const int gpus : {1, 2, 4})
    for (const Schedule& schedule : all_schedules(gpus)) {
      const std::vector<Race> races = find_races(schedule);
      EXPECT_TRUE(races.empty()) << schedule.name << ": " << races.front().message;
    }
}

TEST(SelftestSchedules, AreSpoiltInARowThatIsLookedAt) {
  for (const int gpus : {1, 2, 4, 8}) {
    const std::vector<Schedule> schedules = spoilt_fp8_schedules(gpus);
    EXPECT_GE(schedules.size(), gpus == 1 ? 8u : 11u);
    for (const Schedule& schedule : schedules) {
      EXPECT_NO_THROW(validate(schedule)) << schedule.name;
      EXPECT_NO_THROW(require_runnable(schedule)) << schedule.name;
      EXPECT_TRUE(find_races(schedule).empty()) << schedule.name;
      const auto& spoils = std::get<Copy>(schedule.operations.back().work);
      EXPECT_EQ(spoils.destination.buffer, schedule.meaning->result);
      EXPECT_EQ(first_row(spoils.destination.rows, 0, gpus), 0);
    }
  }
}

TEST(SelftestSchedules, ReachPeersOnlyWhereThereAreSome) {
  const auto has_barrier = [](const Schedule& schedule) {
    return std::ranges::any_of(schedule.operations,
                               [](const Operation& operation) { return kind_of(operation.work) == "barrier"; });
  };
  EXPECT_EQ(std::ranges::count_if(all_schedules(1), has_barrier), 0);
  EXPECT_GT(std::ranges::count_if(all_schedules(2), has_barrier), 0);
}

}  // namespace selftest_schedules_test
}  // namespace weft::calibration
