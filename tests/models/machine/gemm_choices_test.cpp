#include "models/machine/gemm_choices.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace weft {
namespace {

GemmChoice choice(std::int64_t m, std::int64_t n, std::int64_t k) { return {m, n, k, {}}; }

std::vector<std::int64_t> rows_of(const std::vector<GemmChoices::Near>& choices) {
  std::vector<std::int64_t> rows;
  for (const GemmChoices::Near& near : choices) rows.push_back(near.choice->m);
  return rows;
}

TEST(GemmChoices, FindsAShapeThatWasAskedFor) {
  const GemmChoices choices{choice(64, 128, 256), choice(64, 256, 128), choice(16, 128, 256)};
  const GemmChoice* found = choices.find({64, 128, 256});
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->n, 128);
  EXPECT_EQ(choices.find({64, 128, 128}), nullptr);
}

TEST(GemmChoices, NeighboursAreNearestInPowersOfTwo) {
  const GemmChoices choices{choice(64, 128, 256), choice(512, 128, 256), choice(1024, 128, 256)};
  EXPECT_EQ(rows_of(choices.nearest({256, 128, 256}, 3)), (std::vector<std::int64_t>{512, 64, 1024}));
}

TEST(GemmChoices, OfEquallyNearAnswersTheSmallerShapesCount) {
  const GemmChoices choices{choice(512, 128, 256), choice(128, 128, 256), choice(256, 64, 256), choice(256, 256, 256)};
  EXPECT_EQ(rows_of(choices.nearest({256, 128, 256}, 2)), (std::vector<std::int64_t>{128, 256}));
}

TEST(GemmChoices, NoAnswersHaveNoNeighbours) {
  EXPECT_EQ(GemmChoices().find({1, 1, 1}), nullptr);
  EXPECT_TRUE(GemmChoices().nearest({1, 1, 1}, 8).empty());
}

TEST(GemmChoices, NeighboursAreThoseOfAFullScan) {
  std::mt19937 random(1);
  const auto size = [&] {
    const auto power = std::int64_t{1} << (4 + random() % 10);
    return power + power / 4 * static_cast<std::int64_t>(random() % 4);
  };
  std::vector<GemmChoice> answers;
  for (int i = 0; i < 2000; ++i) answers.push_back(choice(size(), size(), size()));
  const GemmChoices choices(answers);
  const auto log2_of = [](std::int64_t x) {
    return std::floor(std::log2(x)) + x / std::exp2(std::floor(std::log2(x)));
  };
  for (int i = 0; i < 50; ++i) {
    const MatrixSize here{size(), size(), size()};
    const auto distance = [&](const GemmChoice& one) {
      return std::pow(log2_of(one.m) - log2_of(here.m), 2) + std::pow(log2_of(one.n) - log2_of(here.n), 2) +
             std::pow((log2_of(one.k) - log2_of(here.k)) / 2, 2);
    };
    std::vector<double> scanned, found;
    for (const GemmChoice& one : choices) scanned.push_back(distance(one));
    std::sort(scanned.begin(), scanned.end());
    scanned.resize(8);
    for (const GemmChoices::Near& near : choices.nearest(here, 8)) {
      EXPECT_EQ(near.squared_distance, distance(*near.choice));
      found.push_back(near.squared_distance);
    }
    EXPECT_EQ(found, scanned);  // quarters of powers of two: exact
  }
}

}  // namespace
}  // namespace weft
