#include "models/check/wait_chain.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace {

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

}  // namespace
}  // namespace weft
