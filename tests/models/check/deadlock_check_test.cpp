#include "models/check/deadlock_check.hpp"

#include <gtest/gtest.h>

#include "models/base/input_error.hpp"

namespace weft {
namespace deadlock_check_test {

Schedule on_two_streams(std::vector<Operation> operations) {
  Schedule schedule;
  schedule.gpus = 2;
  schedule.streams = {{"a"}, {"b"}};
  schedule.counters = {{"ready"}};
  schedule.operations = std::move(operations);
  return schedule;
}

const Operation wait{"wait", 0, {}, Wait{}}, signal{"signal", 1, {}, Signal{}};

TEST(DeadlockCheck, OneByOneNothingMayWaitForWhatComesLater) {
  EXPECT_TRUE(runs_one_by_one(on_two_streams({signal, wait})));
  EXPECT_NO_THROW(check_deadlock(on_two_streams({wait, signal}))) << "each on its stream";
  EXPECT_FALSE(runs_one_by_one(on_two_streams({wait, signal})));
}

TEST(DeadlockCheck, OneByOneQueuesHoldNothingUp) {
  Schedule schedule = on_two_streams({signal, wait});
  schedule.launch = Launch::eager;
  schedule.max_connections = 1;
  EXPECT_TRUE(runs_one_by_one(schedule));
}

}  // namespace deadlock_check_test
}  // namespace weft
