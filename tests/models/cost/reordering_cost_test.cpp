#include "models/cost/reordering_cost.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace reordering_cost_test {

Machine machine_with_costs() {
  Machine machine;
  machine.gpu.hbm_GBps = 1;  // 1000 bytes a us
  machine.other_kernels.overhead_us = 2;
  machine.reordering = Reordering{0.1, 0.2, 0.3, 0.4, 0.5};
  return machine;
}

Layout of_kind(LayoutKind kind) {
  Layout layout;
  layout.kind = kind;
  return layout;
}

/// A GEMM whose result of 10 x 100 bf16 is stored in `kind`.
Schedule storing(LayoutKind kind) {
  Schedule schedule;
  schedule.buffers = {{.name = "c", .rows = 10, .columns = 100, .layout = of_kind(kind)}};
  schedule.operations = {{.name = "gemm", .stream = 0, .after = {}, .work = Gemm{}}};
  schedule.meaning = Meaning{.op = "gemm"};
  return schedule;
}

TEST(ReorderingCost, OfAGemmDependsOnWhatItStoresInOnePiece) {
  const Machine machine = machine_with_costs();
  EXPECT_EQ(gemm_reordering(machine, {}), 0);
  EXPECT_EQ(gemm_reordering(machine, of_kind(LayoutKind::tile_ordered)), 0.1);
  EXPECT_EQ(gemm_reordering(machine, of_kind(LayoutKind::sub_tile_ordered)), 0.2);
  EXPECT_EQ(gemm_reordering(machine, of_kind(LayoutKind::per_destination)), 0.2);
}

// An RMSNorm reads and writes 2000 bytes in 2 + 4 us.
TEST(ReorderingCost, OfTheNextKernelIsAShareOfItsTime) {
  const Machine machine = machine_with_costs();
  EXPECT_EQ(next_kernel_reordering(machine, storing(LayoutKind::row_major)), std::nullopt);
  const auto tiles = next_kernel_reordering(machine, storing(LayoutKind::tile_ordered));
  EXPECT_EQ(tiles->unit, "tile");
  EXPECT_DOUBLE_EQ(tiles->time_us, 0.3 * 6);
  EXPECT_DOUBLE_EQ(next_kernel_reordering(machine, storing(LayoutKind::sub_tile_ordered))->time_us, 0.4 * 6);
  EXPECT_DOUBLE_EQ(next_kernel_reordering(machine, storing(LayoutKind::per_destination))->time_us, 0.5 * 6);
}

TEST(ReorderingCost, IsNothingWhereTheProfileDoesNotKnowIt) {
  EXPECT_EQ(gemm_reordering({}, of_kind(LayoutKind::tile_ordered)), 0);
  EXPECT_EQ(next_kernel_reordering({}, storing(LayoutKind::tile_ordered)), std::nullopt);
}

}  // namespace reordering_cost_test
}  // namespace weft
