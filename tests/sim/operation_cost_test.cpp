#include "sim/operation_cost.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tests/sim/test_machine.hpp"

namespace weft::sim {
namespace operation_cost_test {

/// Of an all-reduce of 1 MB on two GPUs, with `count` of them in the schedule.
double all_reduce_us(Transport transport, int count) {
  Machine machine = test_machine();
  machine.collective_kernel.cold_factor = 1.5;
  machine.direct_collectives =
      DirectCollectives{.one_shot = {},
                        .two_shot = DirectCollective{.ctas = 4, .cta_GBps = 50, .port_GBps = 100, .latency_us = 5},
                        .multimem = {}};
  const Slice whole{.buffer = 0, .rows = RowRange{0, 500}, .columns = 1000};
  const Collective all_reduce{
      .kind = CollectiveKind::all_reduce, .input = whole, .output = whole, .transport = transport};
  Schedule schedule;
  schedule.gpus = 2;
  schedule.streams = {{"stream"}};
  schedule.buffers = {{"partial", 500, 1000, DataType::bf16, {}, {}}};
  for (int i = 0; i < count; ++i) schedule.operations.push_back({"all_reduce" + std::to_string(i), 0, {}, all_reduce});
  const CollectiveTiming timing = operation_costs(schedule, machine).front().collective;
  return timing.latency_us + timing.transfer_us;
}

TEST(OperationCost, AmongOthersTheLibrarysCollectivesAreColdAndOnesOwnAreNot) {
  EXPECT_NEAR(all_reduce_us(Transport::nccl, 2) / all_reduce_us(Transport::nccl, 1), 1.5, 1e-9);
  EXPECT_EQ(all_reduce_us(Transport::peer_kernel, 2), all_reduce_us(Transport::peer_kernel, 1));
}

}  // namespace operation_cost_test
}  // namespace weft::sim
