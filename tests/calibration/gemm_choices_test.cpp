#include "calibration/gemm_choices.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/models/error_of.hpp"

namespace weft::calibration {
namespace gemm_choices_test {

nlohmann::json answer() {
  return {{"m", 4096},   {"n", 8192},    {"k", 2048},      {"tile_m", 128},  {"tile_n", 256}, {"tile_k", 64},
          {"stages", 4}, {"split_k", 1}, {"cluster_m", 1}, {"cluster_n", 2}, {"waves", 3.9}};
}

TEST(LibraryAnswer, KeepsTileClusterStagesAndSplit) {
  const auto choice = library_answer_from(answer()).choice;
  ASSERT_TRUE(choice);
  GemmKernel expected;
  expected.tile_m = 128, expected.tile_n = 256, expected.tile_k = 64;
  expected.stages = 4, expected.split_k = 1;
  expected.cluster_m = 1, expected.cluster_n = 2;
  EXPECT_EQ(choice->kernel, expected);
}

TEST(LibraryAnswer, SaysOfWhichFactorsItIs) {
  auto json = answer();
  EXPECT_EQ(library_answer_from(json).factors, DataType::bf16);
  json["dtype"] = "fp8";
  EXPECT_EQ(library_answer_from(json).factors, DataType::fp8);
}

TEST(LibraryAnswer, HasNoChoiceWhereTheTileHasNoName) {
  auto json = answer();
  json["tile_m"] = 0;
  EXPECT_FALSE(library_answer_from(json).choice);
}

TEST(LibraryAnswer, HasNoChoiceWhereTheLibraryKnowsNoKernel) {
  const auto none = library_answer_from({{"m", 1}, {"n", 1}, {"k", 1}, {"error", "no kernel"}});
  EXPECT_FALSE(none.choice);
  EXPECT_NE(none.raw.find("no kernel"), std::string::npos);
}

// Products of such numbers would leave the range of integers, or be divided by.
TEST(LibraryAnswer, RefusesWhatNoKernelHas) {
  for (const auto& [key, value] : {std::pair<std::string, nlohmann::json>{"tile_m", 65280},
                                   {"tile_k", 65536},
                                   {"stages", -1},
                                   {"split_k", 1.5},
                                   {"cluster_n", "two"},
                                   {"m", 0},
                                   {"waves", -1}}) {
    auto json = answer();
    json[key] = value;
    EXPECT_EQ(error_of([&json] { library_answer_from(json); }).find(key + ": expected"), 0) << key;
  }
}

}  // namespace gemm_choices_test
}  // namespace weft::calibration
