#include "models/check/wait_chain.hpp"

#include <gtest/gtest.h>

#include <map>

namespace weft {
namespace wait_chain_test {

/// Of people whose keys stand in the map.
std::string describe_wait_chain(const std::map<int, Blocked>& blocked, int start) {
  return weft::describe_wait_chain(
      [&](int key) { return blocked.contains(key) ? std::optional(blocked.at(key)) : std::nullopt; }, start);
}

TEST(WaitChain, NamesTheCycleAndNotTheWayToIt) {
  const std::map<int, Blocked> blocked{{0, {"a waits for b", 1}}, {1, {"b waits for c", 2}}, {2, {"c waits for b", 1}}};
  EXPECT_EQ(describe_wait_chain(blocked, 0), "b waits for c; c waits for b");
}

TEST(WaitChain, EndsWithWhoWaitsForNobody) {
  const std::map<int, Blocked> blocked{{0, {"a waits for b", 1}}, {1, {"b waits for ever", -1}}};
  EXPECT_EQ(describe_wait_chain(blocked, 0), "a waits for b; b waits for ever");
}

TEST(WaitChain, OneMayWaitForItself) {
  EXPECT_EQ(describe_wait_chain({{3, {"a waits for a", 3}}}, 3), "a waits for a");
}

TEST(WaitChain, NamesTenLinksAndCountsTheOthers) {
  std::map<int, Blocked> blocked;
  for (int key = 0; key < 1000; ++key) blocked[key] = {std::to_string(key), (key + 1) % 1000};
  EXPECT_EQ(describe_wait_chain(blocked, 5), "5; 6; 7; 8; 9; 10; 11; 12; 13; 14; and 990 more");
}

}  // namespace wait_chain_test
}  // namespace weft
