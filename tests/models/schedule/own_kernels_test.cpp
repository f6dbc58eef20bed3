#include "models/schedule/own_kernels.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace own_kernels_test {

constexpr std::int64_t ctas = 132, many_steps = 1000;

TEST(SlicesOfLastWave, AreAsManyAsFindACta) {
  EXPECT_EQ(slices_of_last_wave(66, ctas, many_steps), 2);
  EXPECT_EQ(slices_of_last_wave(67, ctas, many_steps), 1);
  EXPECT_EQ(slices_of_last_wave(44, ctas, many_steps), 3);
  EXPECT_EQ(slices_of_last_wave(3 * ctas + 66, ctas, many_steps), 2);
}

TEST(SlicesOfLastWave, AreNoneOfAFullWave) {
  EXPECT_EQ(slices_of_last_wave(ctas, ctas, many_steps), 1);
  EXPECT_EQ(slices_of_last_wave(5 * ctas, ctas, many_steps), 1);
}

TEST(SlicesOfLastWave, HaveEightStepsAndAreFourAtMost) {
  EXPECT_EQ(slices_of_last_wave(1, ctas, many_steps), 4);
  EXPECT_EQ(slices_of_last_wave(1, ctas, 24), 3);
  EXPECT_EQ(slices_of_last_wave(1, ctas, 15), 1);
}

// Of 192 tiles 132 run at once, of which 36 wait for rows of a peer: the others compute the 60 that are left.
TEST(SlicesOfLastWave, FindNoCtaThatWaitsForRows) {
  EXPECT_EQ(slices_of_last_wave(192, ctas, many_steps), 2);
  EXPECT_EQ(slices_of_last_wave(192, ctas, many_steps, 96), 1);
  EXPECT_EQ(slices_of_last_wave(160, ctas, many_steps), 4);
  EXPECT_EQ(slices_of_last_wave(160, ctas, many_steps, 80), 2);
}

TEST(SlicesOfLastWave, AreForAllWhereTooFewHaveTheirRows) {
  EXPECT_EQ(slices_of_last_wave(160, ctas, many_steps, 20), 4);
  EXPECT_EQ(slices_of_last_wave(2 * ctas + 28, ctas, many_steps, 80), 4);
}

// With clusters of two, a slice is a whole cluster's.
TEST(SlicesOfLastWave, FitClustersOfTwo) {
  for (std::int64_t tiles = 2; tiles < 3 * ctas; tiles += 2)
    EXPECT_LE(tiles % ctas / 2 * slices_of_last_wave(tiles, ctas, many_steps), ctas / 2) << tiles;
}

/// With a group whose last tile tells rank + `place`.
Gemm that_tells(int place) {
  Gemm gemm;
  gemm.signals = {{.tile_group = 0, .counter = 0, .place = place}};
  return gemm;
}

TEST(StoresGiveWay, WhereNoOtherRankWaits) {
  EXPECT_TRUE(stores_give_way(Gemm{}, 64, 128));
  EXPECT_TRUE(stores_give_way(that_tells(0), 64, 128));
  EXPECT_FALSE(stores_give_way(that_tells(1), 64, 128));
}

TEST(StoresGiveWay, WhereATileTakesLong) {
  EXPECT_FALSE(stores_give_way(that_tells(1), 28 * 64, 128));
  EXPECT_TRUE(stores_give_way(that_tells(1), 31 * 64, 128));
  EXPECT_TRUE(stores_give_way(that_tells(1), 28 * 64, 256));
}

}  // namespace own_kernels_test
}  // namespace weft
