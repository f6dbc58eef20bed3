// What an iteration's time went to, on schedules whose critical path is plain.
#include <gtest/gtest.h>

#include "scenarios/families/build.hpp"
#include "sim/simulated_executor.hpp"
#include "tests/sim/test_machine.hpp"

namespace weft::sim {
namespace critical_path_test {

using namespace scenarios;

Limit limit_of(const Workload& workload, const ScheduleChoice& choice, double link_scale) {
  Machine machine = test_machine();
  machine.power.limit_W = 1e6;
  machine.fabric = scaled(machine.fabric, link_scale);
  for (CollectiveCurve& curve : machine.collectives)
    for (CurvePoint& point : curve.points) point.kernel_us /= link_scale;
  const Schedule schedule = scenarios::families::build(
      {.id = "case", .gpus = 4, .workload = workload, .schedule = choice, .measured = {}}, machine);
  return SimulatedExecutor().run(schedule, machine).limited_by;
}

const PairWorkload gathered{PairOp::all_gather_gemm, 8192, 4096, 4096};

TEST(CriticalPath, OfOverlappedChunksFollowsTheCollectivesWhereTheLinkIsSlow) {
  EXPECT_EQ(limit_of(gathered, {Decomposition{4}}, 0.05), Limit::link);
}

TEST(CriticalPath, OfOverlappedChunksFollowsTheGemmsWhereTheLinkIsFast) {
  EXPECT_EQ(limit_of(gathered, {Decomposition{4}}, 20), Limit::compute);
}

TEST(CriticalPath, OfAGemmIsMemoryWhereItsOperandsComeSlowerThanTheyAreMultiplied) {
  EXPECT_EQ(limit_of(GemmWorkload{1, 32768, 16384}, {}, 1), Limit::hbm);
  EXPECT_EQ(limit_of(GemmWorkload{16384, 32768, 16384}, {}, 1), Limit::compute);
}

TEST(CriticalPath, OfSignaledGroupsFollowsTheGemmThatAWaitIsFor) {
  const PairWorkload reduced{PairOp::gemm_reduce_scatter, 8192, 4096, 4096};
  const ScheduleChoice signaling{Signaling{.groups = {2, 2}}};
  EXPECT_EQ(limit_of(reduced, signaling, 20), Limit::compute);
  EXPECT_EQ(limit_of(reduced, signaling, 0.05), Limit::link);
}

/// Rank 0 computes for long, rank 1 copies for a moment.
TEST(CriticalPath, IsThatOfTheSlowestRank) {
  Machine machine = test_machine();
  machine.power.limit_W = 1e6;
  Schedule schedule;
  schedule.name = "uneven";
  schedule.gpus = 2;
  schedule.buffers = {{"a", 8192, 4096, DataType::bf16, {}, {}},
                      {"b", 4096, 4096, DataType::bf16, {}, {}},
                      {"c", 8192, 4096, DataType::bf16, {}, {}},
                      {"sent", 4096, 4096, DataType::bf16, Memory::symmetric, {}},
                      {"received", 4096, 4096, DataType::bf16, {}, {}}};
  schedule.streams = {{"s0", 0}};
  const RankRows computed{{{0, 8192}, {0, 0}}}, copied{{{0, 0}, {0, 4096}}};
  Gemm gemm;
  gemm.a = {0, 0, computed, 0, 4096};
  gemm.b = {1, 0, RowRange{0, 4096}, 0, 4096};
  gemm.c = {2, 0, computed, 0, 4096};
  schedule.operations = {{"gemm", 0, {}, gemm},
                         {"copy", 0, {}, Copy{{3, 1, copied, 0, 4096}, {4, 0, copied, 0, 4096}, {}}}};
  EXPECT_EQ(SimulatedExecutor().run(schedule, machine).limited_by, Limit::compute);
  for (Slice* slice : {&gemm.a, &gemm.c}) slice->rows = RankRows{{{0, 64}, {0, 0}}};
  schedule.operations.front().work = gemm;
  EXPECT_NE(SimulatedExecutor().run(schedule, machine).limited_by, Limit::compute);
}

}  // namespace critical_path_test
}  // namespace weft::sim
