// Narrow bands of tiles read b again and again, and what runs beside them sweeps it from the L2.
#include "sim/band_traffic.hpp"

#include <gtest/gtest.h>

#include "models/schedule/own_kernels.hpp"
#include "tests/schedule_parts.hpp"
#include "tests/sim/test_machine.hpp"

namespace weft::sim {
namespace band_traffic_test {

constexpr std::int64_t rows = 32 * own_tile_m, columns = 4096, depth = 512;
constexpr double b_bytes = 2.0 * columns * depth, c_bytes = 2.0 * rows * columns, a_bytes = 2.0 * rows * depth;

/// A product in bands of `swizzle` tile rows, and a kernel that writes `beside` rows of c when its first group is done.
Schedule in_bands(int swizzle, std::int64_t beside = 0) {
  Schedule schedule;
  schedule.gpus = 1;
  schedule.streams = {{"main", 0}, {"side", 0}};
  Gemm gemm;
  gemm.a = tests::add_buffer(schedule, "a", rows, depth);
  gemm.b = tests::add_buffer(schedule, "b", columns, depth);
  gemm.c = tests::add_buffer(schedule, "c", rows, columns);
  gemm.kernel = own_kernel(256, 1, TileScheduler::static_persistent);
  gemm.order.swizzle = swizzle;
  schedule.operations.push_back({"product", 0, {}, gemm});
  if (beside == 0) return schedule;
  MemoryBound sum;
  sum.reads = {gemm.c}, sum.writes = {tests::add_buffer(schedule, "sum", beside, columns)};
  schedule.operations.push_back({"sum", 1, {{0, Point::tile_group, 0}}, sum});
  return schedule;
}

double read_again(const Schedule& schedule, double l2_bytes) {
  Machine machine = test_machine();
  machine.gpu.l2_bytes = static_cast<Bytes>(l2_bytes);
  machine.gpu.l2_lost_bytes = machine.gpu.l2_bytes + 1;
  return bytes_read_again(schedule, 0, machine);
}

TEST(BandTraffic, IsOfAllOfBForEachBandThatANarrowerOneAdds) {
  EXPECT_DOUBLE_EQ(read_again(in_bands(own_order.swizzle), b_bytes / 2), 0);
  EXPECT_DOUBLE_EQ(read_again(in_bands(2), b_bytes / 2), (16 - 4) * b_bytes);
}

/// The same product in 16 blocks of two tile rows each.
Schedule in_blocks(bool are_fetched) {
  Schedule schedule = in_bands(own_order.swizzle);
  auto& gemm = std::get<Gemm>(schedule.operations[0].work);
  const auto take_rows = [&](int block) {
    const RowRange taken{block * 2 * own_tile_m, 2 * own_tile_m};
    gemm.a.rows = taken, gemm.c.rows = taken;
    if (are_fetched) gemm.a_from = gemm.a;
  };
  for (int block = 0; block < 15; ++block) {
    take_rows(block);
    gemm.earlier.push_back({.a = gemm.a, .c = gemm.c, .a_from = gemm.a_from});
  }
  take_rows(15);
  return schedule;
}

TEST(BandTraffic, IsOfEachBlockThatWaitsForItsRows) {
  EXPECT_DOUBLE_EQ(read_again(in_blocks(true), b_bytes / 2), (16 - 4) * b_bytes);
}

TEST(BandTraffic, IsOnceForBlocksThatAWaveOfTilesHolds) {
  const Schedule schedule = in_blocks(false);
  const auto& gemm = std::get<Gemm>(schedule.operations[0].work);
  Machine machine = test_machine();
  machine.gpu.l2_bytes = static_cast<Bytes>(b_bytes / 2), machine.gpu.l2_lost_bytes = machine.gpu.l2_bytes + 1;
  const std::int64_t tiles = 16 * 2 * (columns / gemm.kernel->tile_n);
  machine.gpu.gpc_sms = {static_cast<int>(tiles / 8)};
  EXPECT_DOUBLE_EQ(bytes_read_again(schedule, 0, machine), (8 - 4) * b_bytes);
  machine.gpu.gpc_sms = {static_cast<int>(tiles / 4)};
  EXPECT_DOUBLE_EQ(bytes_read_again(schedule, 0, machine), 0);
}

TEST(BandTraffic, IsNothingWhereABandAndBFitTheL2) {
  const double of_band = b_bytes + (a_bytes + c_bytes) / 16;
  EXPECT_DOUBLE_EQ(read_again(in_bands(2), of_band), 0);
  EXPECT_GT(read_again(in_bands(2), of_band - 2), 0);
}

TEST(BandTraffic, GrowsByWhatIsWrittenBeside) {
  const double of_band = b_bytes + (a_bytes + c_bytes) / 4;
  EXPECT_DOUBLE_EQ(read_again(in_bands(own_order.swizzle), of_band), 0);
  EXPECT_DOUBLE_EQ(read_again(in_bands(own_order.swizzle, rows), of_band), 3 * b_bytes);
}

TEST(BandTraffic, IsNoneOfWhateverElse) {
  Schedule schedule = in_bands(2, rows);
  EXPECT_EQ(bytes_read_again(schedule, 1, test_machine()), 0);
  schedule.operations[0].work = [&] {
    Gemm gemm;
    gemm.a = {0, 0, RowRange{0, rows}, 0, depth}, gemm.b = {1, 0, RowRange{0, columns}, 0, depth};
    gemm.c = {2, 0, RowRange{0, rows}, 0, columns};
    return gemm;
  }();
  EXPECT_EQ(read_again(schedule, b_bytes / 2), 0);  // by the library's kernel
}

}  // namespace band_traffic_test
}  // namespace weft::sim
