#include "sim/operation_cost.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tests/sim/test_machine.hpp"

namespace weft::sim {
namespace operation_cost_test {

/// Of an all-reduce of 1 MB on two GPUs, with `count` of them in the schedule, the last on that stream.
double all_reduce_us(Transport transport, int count, StreamId last_stream = 0, bool mix_has_branches = false) {
  Machine machine = test_machine();
  machine.condition.library_on_branch = mix_has_branches;
  machine.latencies.beside_branches_us = 4;
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
  schedule.streams = {{"stream"}, {"branch"}};
  schedule.buffers = {{"partial", 500, 1000, DataType::bf16, {}, {}}};
  for (int i = 0; i < count; ++i) schedule.operations.push_back({"all_reduce" + std::to_string(i), 0, {}, all_reduce});
  schedule.operations.back().stream = last_stream;
  const CollectiveTiming timing = operation_costs(schedule, machine).front().collective;
  return timing.latency_us + timing.transfer_us;
}

TEST(OperationCost, AmongOthersTheLibrarysCollectivesAreColdAndOnesOwnAreNot) {
  EXPECT_NEAR(all_reduce_us(Transport::nccl, 2) / all_reduce_us(Transport::nccl, 1), 1.5, 1e-9);
  EXPECT_EQ(all_reduce_us(Transport::peer_kernel, 2), all_reduce_us(Transport::peer_kernel, 1));
}

TEST(OperationCost, BesideBranchesOfOthersTheLibrarysCollectivesOfOneStreamTakeLonger) {
  EXPECT_NEAR(all_reduce_us(Transport::nccl, 2, 0, true) - all_reduce_us(Transport::nccl, 2), 4, 1e-9);
  EXPECT_EQ(all_reduce_us(Transport::nccl, 2, 1, true), all_reduce_us(Transport::nccl, 2, 1));
  EXPECT_EQ(all_reduce_us(Transport::peer_kernel, 2, 0, true), all_reduce_us(Transport::peer_kernel, 2));
}

// What lies on a peer passes the links, and not the memory of the GPU that reads it.
TEST(OperationCost, OfAnL2ThatKeepsNothingIsWhatLiesHere) {
  Schedule schedule;
  schedule.gpus = 2;
  schedule.streams = {{"stream"}};
  schedule.buffers = {{"theirs", 500, 1000, DataType::bf16, Memory::symmetric, {}},
                      {"ours", 500, 1000, DataType::bf16, {}, {}}};
  const auto slice = [](BufferId buffer, int place) {
    Slice whole{.buffer = buffer, .rows = RowRange{0, 500}, .columns = 1000};
    whole.place = place;
    return whole;
  };
  schedule.operations = {
      {"sum", 0, {}, MemoryBound{.kernel = MemoryKernel::add, .reads = {slice(0, 1)}, .writes = {slice(1, 0)}}}};
  EXPECT_EQ(operation_costs(schedule, test_machine(), false).front().traffic.hbm_bytes, 1e6);
  schedule.operations = {
      {"sum", 0, {}, MemoryBound{.kernel = MemoryKernel::add, .reads = {slice(0, 0)}, .writes = {slice(1, 0)}}}};
  EXPECT_EQ(operation_costs(schedule, test_machine(), false).front().traffic.hbm_bytes, 2e6);
}

}  // namespace operation_cost_test
}  // namespace weft::sim
