// What an iteration's time went to, on schedules whose critical path is plain.
#include <gtest/gtest.h>

#include "scenarios/families/build.hpp"
#include "sim/simulated_executor.hpp"
#include "tests/sim/test_machine.hpp"

namespace weft::sim {
namespace {

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

}  // namespace
}  // namespace weft::sim
