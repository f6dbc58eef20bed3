#include "calibration/device/group_counts.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "models/schedule/schedule_json.hpp"

namespace weft::calibration::device {
namespace group_counts_test {

/// Of 4 x 2 tiles on two GPUs, 6 of them in the first group and 2 in the second.
nlohmann::json gemm() {
  return {
      {"a", "a"},
      {"b", "b"},
      {"c", "c"},
      {"kernel", {{"tile_m", 128}, {"tile_n", 256}, {"tile_k", 64}, {"stages", 3}, {"scheduler", "static_persistent"}}},
      {"tile_groups", {6, 2}},
      {"signals", {{{"tile_group", 0}, {"counter", "first"}}, {{"tile_group", 1}, {"counter", "second"}}}}};
}

Schedule schedule_of(const nlohmann::json& gemm) {
  const auto buffer = [](const char* name, int rows, int columns) {
    return nlohmann::json{{"name", name}, {"rows", rows}, {"columns", columns}, {"memory", "symmetric"}};
  };
  return schedule_from_json({{"format", "weft.schedule/1"},
                             {"name", "groups"},
                             {"gpus", 2},
                             {"buffers", {buffer("a", 512, 64), buffer("b", 512, 64), buffer("c", 512, 512)}},
                             {"streams", {{{"name", "main"}}}},
                             {"counters", {{{"name", "first"}}, {{"name", "second"}}}},
                             {"operations", {{{"name", "gemm"}, {"stream", "main"}, {"gemm", gemm}}}}});
}

std::vector<std::int64_t> adds(const nlohmann::json& gemm, int rank = 0) {
  std::vector<std::int64_t> all;
  for (const GroupCounts& group : group_counts(schedule_of(gemm), 0, rank)) all.push_back(group.adds);
  return all;
}

using Adds = std::vector<std::int64_t>;

TEST(GroupCounts, AreOfEachTileWhereNobodyElseRaisesTheCounter) {
  EXPECT_EQ(adds(gemm()), (Adds{6, 2}));
  nlohmann::json whole = gemm();
  whole.erase("tile_groups"), whole["signals"].erase(1);
  EXPECT_EQ(adds(whole), Adds{8});
}

TEST(GroupCounts, AreOfTheLastTileWhereTwoGroupsRaiseOneCounter) {
  nlohmann::json shared = gemm();
  shared["signals"][1]["counter"] = "first";
  EXPECT_EQ(adds(shared), (Adds{1, 1}));
}

TEST(GroupCounts, AreOfTheLastTileWhereAPeerIsTold) {
  nlohmann::json told = gemm();
  told["signals"][1]["place"] = 1;
  EXPECT_EQ(adds(told), (Adds{6, 1}));
  EXPECT_FALSE(group_counts(schedule_of(told), 0, 0)[0].tells_peers);
  EXPECT_TRUE(group_counts(schedule_of(told), 0, 0)[1].tells_peers);
}

TEST(GroupCounts, AreOfTheLastTileWhereTilesAreStoredOnAPeer) {
  nlohmann::json stored = gemm();
  stored["c"] = {{"buffer", "c"}, {"place", 1}};
  EXPECT_EQ(adds(stored), (Adds{1, 1}));
  EXPECT_TRUE(group_counts(schedule_of(stored), 0, 0)[0].tells_peers);
}

TEST(GroupCounts, OfGroupsThatARankHasNoTilesOfAreThoseOfTheLastOneThatHasSome) {
  nlohmann::json uneven = gemm();
  uneven["a"] = {{"buffer", "a"}, {"rows", {{"of_rank", {{0, 512}, {0, 256}}}}}};
  EXPECT_EQ(adds(uneven, 0), (Adds{6, 2}));
  EXPECT_EQ(adds(uneven, 1), (Adds{4, 4}));
}

TEST(GroupCounts, OtherOperationsHaveNone) {
  Schedule pause = schedule_of(gemm());
  pause.operations.push_back({"pause", 0, {}, Delay{1}});
  EXPECT_TRUE(group_counts(pause, 1, 0).empty());
}

}  // namespace group_counts_test
}  // namespace weft::calibration::device
