#include "models/schedule/counters.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft {
namespace counters_test {

using testing::ElementsAre;

TEST(Counters, TellApartWhatEachRankAdds) {
  Schedule schedule;
  schedule.gpus = 4;
  schedule.counters = {{"fed", false}};
  Gemm gemm;
  gemm.signals = {{.tile_group = 0, .counter = 0, .place = 0}, {.tile_group = 1, .counter = 0, .place = 0}};
  schedule.operations = {{"gemm", 0, {}, gemm},
                         {"to the next", 0, {}, Signal{.counter = 0, .place = 1, .add = 3}},
                         {"to the same", 0, {}, Signal{.counter = 0, .place = -3}}};
  const CounterUse use = counter_uses(schedule).front();
  EXPECT_EQ(use.total(), 6);
  EXPECT_THAT(use.totals_by_place(schedule.gpus), ElementsAre(2, 4, 0, 0))
      << "rank - 1 adds 4, and rank + 3 is rank - 1";
}

}  // namespace counters_test
}  // namespace weft
