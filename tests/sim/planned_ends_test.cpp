#include "sim/planned_ends.hpp"

#include <gmock/gmock.h>

#include <map>
#include <random>

namespace weft::sim {
namespace planned_ends_test {

/// The flow whose end comes first, by looking at all of them.
int first_of(const std::map<int, PlannedEnd>& ends) {
  int first = ends.begin()->first;
  for (const auto& [flow, end] : ends)
    if (end < ends.at(first)) first = flow;
  return first;
}

TEST(PlannedEnds, FirstEndIsAtHandWhateverIsPlannedMovedAndForgotten) {
  std::mt19937 draw(1);
  PlannedEnds planned;
  std::map<int, PlannedEnd> expected;
  for (std::uint64_t place = 0; place < 4000; ++place) {
    const int flow = static_cast<int>(draw() % 24);
    if (draw() % 3 == 0) {
      planned.forget(flow);
      expected.erase(flow);
    } else {
      const PlannedEnd end{{static_cast<std::int64_t>(draw() % 50)}, place};
      planned.plan(flow, end);
      expected[flow] = end;
    }
    ASSERT_EQ(planned.is_empty(), expected.empty());
    if (!expected.empty()) {
      ASSERT_EQ(planned.first().flow, first_of(expected));
    }
  }
}

TEST(PlannedEnds, FirstIsReplacedByTheEndOfAnotherFlow) {
  PlannedEnds planned;
  for (int flow = 0; flow < 4; ++flow) planned.plan(flow, {{1000 * flow}, 0});
  planned.replace_first(7, {{1500}, 1});
  EXPECT_EQ(planned.first().flow, 1);
  planned.forget(1);
  EXPECT_EQ(planned.first().flow, 7);
}

TEST(PlannedEnds, FirstIsTiedWhereAnotherComesAtItsTime) {
  PlannedEnds planned;
  planned.plan(0, {{1000}, 8});
  EXPECT_FALSE(planned.is_first_tied());
  planned.plan(1, {{2000}, 9});
  EXPECT_FALSE(planned.is_first_tied());
  planned.plan(2, {{1000}, 10});
  EXPECT_TRUE(planned.is_first_tied());
}

TEST(PlannedEnds, EqualTimesComeInTheOrderOfTheirPlaces) {
  PlannedEnds planned;
  planned.plan(0, {{1000}, 8});
  planned.plan(1, {{1000}, 7});
  EXPECT_EQ(planned.first().flow, 1);
}

}  // namespace planned_ends_test
}  // namespace weft::sim
