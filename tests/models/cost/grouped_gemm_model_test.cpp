#include "models/cost/grouped_gemm_model.hpp"

#include <gtest/gtest.h>

#include "models/machine/machine_json.hpp"
#include "models/schedule/grouped_tiles.hpp"
#include "models/schedule/own_kernels.hpp"
#include "tests/source_folder.hpp"

namespace weft {
namespace grouped_gemm_model_test {

GemmKernel kernel(int tile_m, int tile_n) {
  return {.tile_m = tile_m, .tile_n = tile_n, .tile_k = 64, .cluster_m = 1, .cluster_n = 1, .stages = 4};
}

// For a row by itself, and for eight in one GEMM, the library takes small tiles to reach all SMs. In eight groups these
// would be eight times as many, nearly all of whose rows are empty.
TEST(ChooseGroupedKernel, OfSmallGroupsIsNotOneThatCutsEachForAllSms) {
  Machine machine = read_machine(tests::source_folder() + "/tests/sim/test_machine.json");
  machine.gemm_candidates.clear();
  const GemmKernel fine = kernel(64, 8), wide = kernel(8, 64);
  machine.gemm_choices = {{1, 128, 4096, fine}, {8, 128, 4096, fine}, {1, 1024, 4096, wide}};
  const GroupedSize size{.group_rows = std::vector<std::int64_t>(8, 1), .n = 128, .k = 4096};
  EXPECT_EQ(choose_grouped_kernel(machine, size, DataType::bf16).tile_m, wide.tile_m);
}

class OwnGroupedGemm : public testing::Test {
 protected:
  OwnGroupedGemm() : machine(read_machine(tests::source_folder() + "/tests/sim/test_machine.json")) {
    machine.runtime = Runtime::cuda, machine.architecture = Architecture::hopper;
  }
  Machine machine;
  const GroupedSize size{.group_rows = std::vector<std::int64_t>(8, 160), .n = 256, .k = 2048};
};

TEST_F(OwnGroupedGemm, IsWhatRunsWhereThereIsOne) {
  EXPECT_EQ(choose_grouped_kernel(machine, size, DataType::bf16), own_grouped_kernel(size, machine.gpu.sms()));
  machine.architecture = Architecture::ampere;
  EXPECT_FALSE(is_own_kernel(choose_grouped_kernel(machine, size, DataType::bf16)));
}

TEST_F(OwnGroupedGemm, HasTheTilesThatItsCtasGet) {
  for (const GemmKernel& one : own_kernels)
    EXPECT_EQ(tile_count(size, one), static_cast<std::int64_t>(grouped_tiles(size, one).size()));
}

// Beyond a group lie the rows of the next one, which are loaded as any others.
TEST_F(OwnGroupedGemm, PaysNoMoreForRowsOfTheNextGroup) {
  machine.gemm.outside_rows_cost = 1;
  const GemmKernel own = own_kernel(128, 1, TileScheduler::static_persistent);
  const double tile_us = time_tile(machine, size, own, DataType::bf16).tile_us;
  machine.gemm.outside_rows_cost = 4;
  EXPECT_EQ(time_tile(machine, size, own, DataType::bf16).tile_us, tile_us);
}

// Groups of 160 rows have a tile of 128, for both warpgroups, and one of 32 for one of them.
TEST_F(OwnGroupedGemm, ComputesTheRowsOfItsWarpgroups) {
  const GemmKernel own = own_kernel(128, 1, TileScheduler::static_persistent);
  EXPECT_EQ(computed_flops(size, own), 2.0 * 8 * 192 * size.n * size.k);
  EXPECT_EQ(computed_flops(size, kernel(128, 64)), size.flops());
}

TEST_F(OwnGroupedGemm, LoadsBoxesThatHaveTheRowsOfATile) {
  const GemmKernel own = own_kernel(128, 1, TileScheduler::static_persistent);
  const auto wave = [&](std::vector<std::int64_t> rows) {
    return wave_of_tiles(machine, {.group_rows = std::move(rows), .n = 256, .k = 2048}, own);
  };
  EXPECT_EQ(wave({160, 160}).loaded_m, (128.0 + 32) / 256);
  EXPECT_EQ(wave({160, 160}).multiplied_m, 1);
  EXPECT_EQ(wave({1, 0, 5}).loaded_m, (1.0 + 8) / 256);
  EXPECT_EQ(wave({1, 0, 5}).multiplied_m, 0.5);
  EXPECT_EQ(wave({1, 0, 5}).outside_m, 3.0 / 9);  // the box of 8 has 5 rows of the matrix
  EXPECT_EQ(wave({5, 3}).outside_m, 1.0 / 12);    // 8 and 4 rows of 8
}

// Two columns of tiles of 128 and of 32 rows for each group, on 132 CTAs: those that have a second tile begin with one
// of 128 rows and get another one of 128, or of 32 after one of 32.
TEST_F(OwnGroupedGemm, TakesAsLongAsTheCtaThatMultipliesMost) {
  const GemmKernel own = own_kernel(128, 1, TileScheduler::static_persistent);
  ASSERT_EQ(persistent_ctas(machine.gpu, own) % 4, 0);
  const std::size_t groups = static_cast<std::size_t>(persistent_ctas(machine.gpu, own)) / 2;
  const WaveOfTiles wave =
      wave_of_tiles(machine, {.group_rows = std::vector<std::int64_t>(groups, 160), .n = 256, .k = 2048}, own);
  EXPECT_EQ(wave.multiplied_m, 1);
  const WaveOfTiles few = wave_of_tiles(machine, {.group_rows = {32, 32, 32}, .n = 256, .k = 2048}, own);
  EXPECT_EQ(few.multiplied_m, 0.5);
}

// What comes for the next tile while one is stored costs nothing: each of many tiles takes what its loads take.
TEST_F(OwnGroupedGemm, LoadsWhileATileIsStored) {
  machine.gemm.load_latency_us = 100;
  machine.gemm.own_few_rows_latency = 1;
  const GemmKernel own = own_kernel(128, 1, TileScheduler::static_persistent);
  const TileTiming tile = time_tile(machine, {.group_rows = {1, 1}, .n = 256, .k = 2048}, own, DataType::bf16);
  const double loads_us = 2048 / own.tile_k * 100.0 / own.stages / machine.gemm.own_narrow_efficiency;
  EXPECT_NEAR(tile.tile_us, loads_us, 1e-6 * loads_us);
}

// A load takes hardly less time for fewer rows.
TEST_F(OwnGroupedGemm, WaitsForLoadsOfFewRowsAsItsMachineDoes) {
  machine.gemm.load_latency_us = 100;
  const GemmKernel own = own_kernel(128, 1, TileScheduler::static_persistent);
  const auto tile_us = [&](double whatever_rows) {
    machine.gemm.own_few_rows_latency = whatever_rows;
    return time_tile(machine, {.group_rows = {1}, .n = 128, .k = 2048}, own, DataType::bf16).tile_us;
  };
  EXPECT_NEAR(tile_us(0) / tile_us(1), 129.0 / 256, 1e-6);
  EXPECT_NEAR(tile_us(0.5) / tile_us(1), (129.0 / 256 + 1) / 2, 1e-6);
}

// The second CTA of a pair may have no rows: it loads one all the same, and waits for the first.
TEST_F(OwnGroupedGemm, OfAPairWithoutRowsWaitsForTheOther) {
  const GemmKernel pair = own_kernel(128, 2, TileScheduler::static_persistent);
  const WaveOfTiles wave = wave_of_tiles(machine, {.group_rows = {128}, .n = 256, .k = 2048}, pair);
  EXPECT_EQ(wave.loaded_m, 129.0 / 256);
  EXPECT_EQ(wave.multiplied_m, 1);
}

}  // namespace grouped_gemm_model_test
}  // namespace weft
