#include "scenarios/builders/wave_groups.hpp"

#include <gmock/gmock.h>

#include <numeric>

#include "tests/models/error_of.hpp"
#include "tests/scenarios/program_text.hpp"

namespace weft::scenarios {
namespace {

using testing::ElementsAre;

/// Waves of 10 tiles in 1 us beside a collective, of 12 tiles alone.
Waves ten_tiles_a_wave(std::int64_t tiles) {
  return {.kernel = {}, .wave_us = 1, .tiles = tiles, .tiles_of_wave = 10, .tiles_of_wave_alone = 12};
}

// 100 SMs hold one CTA each; 20 of them are the collective's.
TEST(Waves, AreTilesOnTheSmsThatTheCollectiveLeaves) {
  const Waves waves = waves_of({1024, 2048, 64}, DataType::bf16, 20, round_machine());
  EXPECT_EQ(waves.kernel.tile_m * waves.kernel.tile_n, 128 * 256);
  EXPECT_EQ(waves.tiles, 8 * 8);
  EXPECT_EQ(waves.tiles_of_wave, 80);
  EXPECT_EQ(waves.tiles_of_wave_alone, 100);
}

TEST(Waves, TakeATileThatDividesTheMatrix) {
  const auto kernel_of = [](std::int64_t m, std::int64_t n) {
    return waves_of({m, n, 64}, DataType::bf16, 20, round_machine()).kernel;
  };
  EXPECT_EQ(kernel_of(2560, 2432).tile_m, 256);  // n has no tiles of 256
  EXPECT_EQ(kernel_of(2432, 2560).tile_n, 256);
  EXPECT_EQ(kernel_of(2432, 2432).tile_m * kernel_of(2432, 2432).tile_n, 128 * 128);
}

// 10 x 10 tiles of 128 x 128 are one wave of 100 SMs, 10 x 5 of twice that half a wave of twice the time.
TEST(Waves, TakeTheFastestTile) {
  const GemmKernel kernel = waves_of({1280, 1280, 64}, DataType::bf16, 20, round_machine()).kernel;
  EXPECT_EQ(kernel.tile_m * kernel.tile_n, 128 * 128);
}

TEST(Waves, NeedWholeTilesAndSmsToRunOn) {
  const auto error = [](MatrixSize size, int ctas) {
    return error_of([&] { waves_of(size, DataType::bf16, ctas, round_machine()); });
  };
  EXPECT_EQ(error({100, 128, 64}, 20), "workload.m: expected a multiple of a tile's 128, got 100");
  EXPECT_EQ(error({128, 100, 64}, 20), "workload.n: expected a multiple of a tile's 128, got 100");
  EXPECT_EQ(error({128, 128, 64}, 100), "schedule.max_ctas: expected fewer than the 100 SMs of round, got 100");
}

TEST(TilesOfGroups, AreWavesAndTheRest) {
  EXPECT_THAT(tiles_of_groups(ten_tiles_a_wave(55), {2, 3, 1}), ElementsAre(20, 30, 5));
  EXPECT_THAT(tiles_of_groups(ten_tiles_a_wave(55), {2, 1}), ElementsAre(20, 35));
  EXPECT_THAT(tiles_of_groups(ten_tiles_a_wave(55), {9}), ElementsAre(55));
}

TEST(TilesOfGroups, MustLeaveSomethingForTheLastGroup) {
  EXPECT_EQ(error_of([] {
              tiles_of_groups(ten_tiles_a_wave(55), {2, 4, 1});
            }),
            "schedule.groups: expected fewer waves before the last group than the GEMM's 6, got 6");
}

// Sending is free: what counts is the last group, and the first partition of one-wave groups is as good as any.
TEST(SearchedGroups, AreSmallWhereSendingIsFree) {
  EXPECT_THAT(searched_groups(ten_tiles_a_wave(30), [](std::int64_t, bool) { return 0.0; }), ElementsAre(1, 1, 1));
}

// Each transfer costs 5 us whatever its size. Two groups end at 4 + 5 us or later, plus 5 us for the other; one ends
// after the 4 waves that 48 tiles take alone: 4 + 5 us.
TEST(SearchedGroups, AreOneWhereEachTransferIsExpensive) {
  EXPECT_THAT(searched_groups(ten_tiles_a_wave(48), [](std::int64_t, bool) { return 5.0; }), ElementsAre(5));
}

// 40 tiles, 1 us for each wave to be computed and 1 us for 10 tiles to be sent: one-wave groups end at 4 + 1 us.
TEST(SearchedGroups, PipelineComputationAndTransfer) {
  const auto one_us_a_wave = [](std::int64_t tiles, bool) { return static_cast<double>(tiles) / 10; };
  EXPECT_THAT(searched_groups(ten_tiles_a_wave(40), one_us_a_wave), ElementsAre(1, 1, 1, 1));
}

// 0.4 us and 1 us for 10 tiles. Groups of 1 + 1 waves have been sent at 3.8 us: the next, of 2 waves, is computed at 4
// us and ends at 6.4 us. In two groups of one wave each they would end at 6.6 us, and 1 + 2 + 1 or 2 + 2 at 6.8 us.
TEST(SearchedGroups, TakeTheBestOfAllPartitions) {
  const auto transfer_us = [](std::int64_t tiles, bool) { return 0.4 + static_cast<double>(tiles) / 10; };
  EXPECT_THAT(searched_groups(ten_tiles_a_wave(40), transfer_us), ElementsAre(1, 1, 2));
}

// Beside the GEMM each group takes ten times its time.
TEST(SearchedGroups, AreSentSlowlyBesideTheGemm) {
  const auto transfer_us = [](std::int64_t tiles, bool beside_gemm) {
    return static_cast<double>(tiles) / 10 * (beside_gemm ? 10 : 1);
  };
  EXPECT_THAT(searched_groups(ten_tiles_a_wave(40), transfer_us), ElementsAre(4));
}

TEST(SearchedGroups, HaveAtMostTenUnits) {
  const auto transfer_us = [](std::int64_t tiles, bool) { return static_cast<double>(tiles) / 1000; };
  const std::vector<int> groups = searched_groups(ten_tiles_a_wave(250), transfer_us);
  EXPECT_LE(groups.size(), 10u);
  EXPECT_EQ(std::accumulate(groups.begin(), groups.end(), 0), 25);
}

}  // namespace
}  // namespace weft::scenarios
