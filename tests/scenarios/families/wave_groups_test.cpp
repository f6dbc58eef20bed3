#include "scenarios/families/wave_groups.hpp"

#include <gmock/gmock.h>

#include "models/machine/machine_files.hpp"
#include "models/machine/machine_json.hpp"
#include "tests/models/error_of.hpp"
#include "tests/scenarios/program_text.hpp"

namespace weft::scenarios::families {
namespace wave_groups_test {

using testing::ElementsAre;

/// Waves of 10 tiles in 1 us beside a collective, of 12 tiles alone.
Waves ten_tiles_a_wave(std::int64_t tiles) {
  return {.kernel = {}, .wave_us = 1, .tiles = tiles, .tiles_of_wave = 10, .tiles_of_wave_alone = 12};
}

// 100 SMs hold one CTA each; 20 of them are the collective's.
TEST(Waves, AreTilesOnTheSmsThatTheCollectiveLeaves) {
  const Waves waves = waves_of({1024, 2048, 64}, 1024, DataType::bf16, SignalingTiles::grid, 20, round_machine());
  EXPECT_EQ(waves.kernel.tile_m * waves.kernel.tile_n, 128 * 256);
  EXPECT_EQ(waves.tiles, 8 * 8);
  EXPECT_EQ(waves.tiles_of_wave, 80);
  EXPECT_EQ(waves.tiles_of_wave_alone, 100);
}

TEST(Waves, TakeATileThatDividesTheMatrix) {
  const auto kernel_of = [](std::int64_t m, std::int64_t n) {
    return waves_of({m, n, 64}, m, DataType::bf16, SignalingTiles::grid, 20, round_machine()).kernel;
  };
  EXPECT_EQ(kernel_of(2560, 2432).tile_m, 256);  // n has no tiles of 256
  EXPECT_EQ(kernel_of(2432, 2560).tile_n, 256);
  EXPECT_EQ(kernel_of(2432, 2432).tile_m * kernel_of(2432, 2432).tile_n, 128 * 128);
}

// 10 x 10 tiles of 128 x 128 are one wave of 100 SMs, 10 x 5 of twice that half a wave of twice the time.
TEST(Waves, TakeTheFastestTile) {
  const GemmKernel kernel =
      waves_of({1280, 1280, 64}, 1280, DataType::bf16, SignalingTiles::grid, 20, round_machine()).kernel;
  EXPECT_EQ(kernel.tile_m * kernel.tile_n, 128 * 128);
}

TEST(Waves, NeedWholeTilesAndSmsToRunOn) {
  const auto error = [](MatrixSize size, int ctas) {
    return error_of([&] { waves_of(size, size.m, DataType::bf16, SignalingTiles::grid, ctas, round_machine()); });
  };
  EXPECT_EQ(error({100, 128, 64}, 20), "workload.m: expected a multiple of a tile's 128, got 100");
  EXPECT_EQ(error({128, 100, 64}, 20), "workload.n: expected a multiple of a tile's 128, got 100");
  EXPECT_EQ(error({128, 128, 64}, 100), "schedule.max_ctas: expected fewer than the 100 SMs of round, got 100");
}

// 66 tiles of the last wave are cut in two for 132 CTAs, of which the first 98 have a tile that waits for nobody.
TEST(FastestTiles, AreNotCutForCtasThatStillWaitForOtherRanks) {
  const Machine machine = read_machine(machine_path("h200x8-nvswitch"));
  const auto scheduler = [&](std::int64_t free_rows) {
    return fastest_tiles({3584, 1280, 2560},
                         {.band_rows = 1792,
                          .scheduler = SignalingTiles::static_persistent,
                          .columns = TileColumns::ragged,
                          .last_wave = LastWave::may_be_cut,
                          .free_rows = free_rows},
                         machine)
        .scheduler;
  };
  EXPECT_EQ(scheduler(0), TileScheduler::stream_k);
  EXPECT_EQ(scheduler(1792), TileScheduler::static_persistent);
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

}  // namespace wave_groups_test
}  // namespace weft::scenarios::families
