#include "models/machine/gemm_choices.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <tuple>

namespace weft {
namespace gemm_choices_test {

GemmChoice choice(std::int64_t m, std::int64_t n, std::int64_t k) { return {m, n, k, {}}; }

std::vector<std::int64_t> rows_of(const std::vector<GemmChoices::Near>& choices) {
  std::vector<std::int64_t> rows;
  for (const GemmChoices::Near& near : choices) rows.push_back(near.choice.m);
  return rows;
}

TEST(GemmChoices, FindsAShapeThatWasAskedFor) {
  const GemmChoices choices{choice(64, 128, 256), choice(64, 256, 128), choice(16, 128, 256)};
  EXPECT_TRUE(choices.find({64, 128, 256}));
  EXPECT_FALSE(choices.find({64, 128, 128}));
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
  EXPECT_FALSE(GemmChoices().find({1, 1, 1}));
  EXPECT_TRUE(GemmChoices().nearest({1, 1, 1}, 8).empty());
}

/// Quarters of powers of two, so that many shapes are equally far from others and distances are exact.
class ManyShapes : public testing::Test {
 protected:
  ManyShapes() {
    for (int i = 0; i < 5000; ++i) answers.push_back(choice(size(), size(), size()));
    for (GemmChoice& answer : answers) answer.kernel.tile_m = 1 + static_cast<int>((answer.m + 3 * answer.n) % 7);
    choices = answers;
  }

  std::int64_t size() {
    const auto power = std::int64_t{1} << (4 + random() % 10);
    return power + power / 4 * static_cast<std::int64_t>(random() % 4);
  }
  MatrixSize matrix() { return {size(), size(), size()}; }

  std::mt19937 random{1};
  std::vector<GemmChoice> answers;
  GemmChoices choices;
};

TEST_F(ManyShapes, AreAllFound) {
  for (const GemmChoice& answer : answers) EXPECT_EQ(choices.find({answer.m, answer.n, answer.k}), answer.kernel);
}

TEST_F(ManyShapes, AreListedInOrderAndOnce) {
  const auto key = [](const GemmChoice& one) { return std::tuple(one.m, one.n, one.k); };
  std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> keys, listed;
  for (const GemmChoice& one : answers) keys.insert(key(one));
  const std::vector<GemmChoice> all = choices.answers();
  for (const GemmChoice& one : all) listed.insert(key(one));
  EXPECT_EQ(listed, keys);
  EXPECT_EQ(all.size(), keys.size());
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); }));
}

TEST_F(ManyShapes, AreNeighboursAsInAFullScan) {
  const auto log2_of = [](std::int64_t x) {
    return std::floor(std::log2(x)) + static_cast<double>(x) / std::exp2(std::floor(std::log2(x)));
  };
  using Row = std::tuple<double, std::int64_t, std::int64_t, std::int64_t>;  // of equally near ones the smaller sizes
  for (const std::size_t count : {1, 8, 32})
    for (int i = 0; i < 50; ++i) {
      const MatrixSize here = matrix();
      std::vector<Row> scanned, found;
      for (const GemmChoice& one : choices.answers())
        scanned.emplace_back(std::pow(log2_of(one.m) - log2_of(here.m), 2) +
                                 std::pow(log2_of(one.n) - log2_of(here.n), 2) +
                                 std::pow((log2_of(one.k) - log2_of(here.k)) / 2, 2),
                             one.m, one.n, one.k);
      std::sort(scanned.begin(), scanned.end());
      scanned.resize(count);
      for (const auto& [one, squared_distance] : choices.nearest(here, count))
        found.emplace_back(squared_distance, one.m, one.n, one.k);
      EXPECT_EQ(found, scanned);
    }
}

TEST_F(ManyShapes, AroundAreTheNextKOfTheSameRowsAndColumnsAndAlignment) {
  int found = 0;
  for (const GemmChoice& one : answers) {
    const MatrixSize here{one.m, one.n, size()};
    std::int64_t below = 0, above = 0;
    for (const GemmChoice& other : choices.answers()) {
      if (other.m != here.m || other.n != here.n || alignment_of(other.k) != alignment_of(here.k)) continue;
      if (other.k < here.k) below = std::max(below, other.k);
      if (other.k > here.k && (above == 0 || other.k < above)) above = other.k;
    }
    const auto around = choices.around(here);
    EXPECT_EQ(around.below ? around.below->k : 0, below);
    EXPECT_EQ(around.above ? around.above->k : 0, above);
    if (++found == 200) break;
  }
}

TEST(GemmChoices, RowsAreAlignedToALineAtMost) {
  EXPECT_EQ(alignment_of(3), 1);
  EXPECT_EQ(alignment_of(48), 16);
  EXPECT_EQ(alignment_of(4096), 64);
}

TEST(GemmChoices, OfSeveralAnswersToOneShapeTheFirstCounts) {
  const GemmChoices choices{{64, 128, 256, {.tile_m = 16}}, {64, 128, 256, {.tile_m = 32}}};
  EXPECT_EQ(choices.size(), 1u);
  EXPECT_EQ(choices.find({64, 128, 256})->tile_m, 16);
}

TEST(GemmChoices, CopiesShareOneTable) {
  const GemmChoices choices{choice(64, 128, 256)};
  const GemmChoices copy = choices;
  EXPECT_EQ(copy.table().shapes.data(), choices.table().shapes.data());
}

}  // namespace gemm_choices_test
}  // namespace weft
