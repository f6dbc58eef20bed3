// The kernel that fuses an all-reduce, a residual add and an RMSNorm: what it costs, what it holds, and that it means
// the same as the three kernels.
#include <gtest/gtest.h>

#include "models/check/race_check.hpp"
#include "models/check/validation.hpp"
#include "models/cost/all_reduce_norm_model.hpp"
#include "sim/schedule_run.hpp"
#include "sim/simulated_executor.hpp"
#include "sim/simulated_machine.hpp"
#include "tests/models/error_of.hpp"
#include "tests/sim/port_bytes.hpp"
#include "tests/sim/test_machine.hpp"

namespace weft::sim {
namespace all_reduce_norm_test {

Buffer buffer(const std::string& name, std::int64_t rows, std::int64_t columns, Memory memory = Memory::local) {
  return {.name = name, .rows = rows, .columns = columns, .dtype = DataType::bf16, .memory = memory, .layout = {}};
}

/// `rows` rows of 1024 bf16 on `gpus` GPUs; the kernel is operation 0.
Schedule fused_alone(std::int64_t rows, int gpus, int ctas, Transport transport = Transport::peer_kernel) {
  Schedule schedule;
  schedule.name = "fused";
  schedule.gpus = gpus;
  for (const char* name : {"partial", "residual", "normed"})
    schedule.buffers.push_back(buffer(name, rows, 1024, Memory::symmetric));
  schedule.streams = {{"s0", 0}};
  const auto whole = [rows](BufferId id) { return Slice{.buffer = id, .rows = RowRange{0, rows}, .columns = 1024}; };
  schedule.operations = {{"fused", 0, {}, AllReduceNorm{whole(0), whole(1), whole(2), transport, ctas}}};
  validate(schedule);
  return schedule;
}

Machine multicasting() {
  Machine machine = test_machine();
  machine.fabric.multicast = true;
  return machine;
}

double span_us(const Schedule& schedule, const Machine& machine) {
  const Trace trace = SimulatedExecutor({.spans = true, .mechanisms = {.power = false}}).run(schedule, machine);
  return trace.spans.front().end_us - trace.spans.front().start_us;
}

TEST(AllReduceNormModel, PeersPullAndStoreAllButTheOwnShare) {
  EXPECT_DOUBLE_EQ(tests::port_bytes(Transport::peer_kernel, 8, 800), 2 * 700);
}

TEST(AllReduceNormModel, TheSwitchTakesEveryShareOnceAndGivesBackOne) {
  EXPECT_DOUBLE_EQ(tests::port_bytes(Transport::multicast, 8, 800), 900);
}

TEST(AllReduceNormModel, FewCtasAreSlowerInProportionAndManyReachThePort) {
  const auto transfer_us = [](int ctas) {
    return time_all_reduce_norm(test_machine(), Transport::peer_kernel, ctas, 8, Bytes{1} << 30).transfer_us;
  };
  const double port_us = tests::port_bytes(Transport::peer_kernel, 8, 1 << 30) / bytes_per_us(80);
  EXPECT_NEAR(transfer_us(1) / transfer_us(2), 2, 0.05);
  EXPECT_NEAR(transfer_us(16) / port_us, 1, 0.01);
  EXPECT_GT(transfer_us(16), port_us);
}

TEST(AllReduceNormModel, WhatTheMachineDoesNotHaveIsRefused) {
  const Schedule schedule = fused_alone(64, 2, 4, Transport::multicast);
  EXPECT_EQ(error_of([&] { SimulatedExecutor().run(schedule, test_machine()); }),
            "fused.transport: expected a switch that multicasts, which test-machine does not have, got multicast");
  Machine machine = test_machine();
  machine.fused_norm_kernel.reset();
  EXPECT_EQ(error_of([&] { SimulatedExecutor().run(fused_alone(64, 2, 4), machine); }),
            "fused.transport: expected fused_norm_kernel in the profile, which test-machine does not have, got "
            "peer_kernel");
}

TEST(AllReduceNorm, AloneTakesItsLatencyAndItsTransfer) {
  const CollectiveTiming timing = time_all_reduce_norm(test_machine(), Transport::peer_kernel, 4, 4, 65536 * 2048);
  EXPECT_NEAR(span_us(fused_alone(65536, 4, 4), test_machine()), timing.latency_us + timing.transfer_us, 0.01);
}

TEST(AllReduceNorm, MulticastIsFasterThanPeersWithFewCtas) {
  const Machine machine = multicasting();
  EXPECT_LT(span_us(fused_alone(65536, 8, 2, Transport::multicast), machine),
            span_us(fused_alone(65536, 8, 2), machine));
}

TEST(AllReduceNorm, MovesItsBytesThroughThePortsAndItsRowsThroughHbm) {
  for (const auto& [transport, machine] :
       {std::pair{Transport::peer_kernel, test_machine()}, {Transport::multicast, multicasting()}})
    for (const int gpus : {2, 4, 8}) {
      const Schedule schedule = fused_alone(65536, gpus, 8, transport);
      Engine engine;
      const std::vector<OperationCost> costs = operation_costs(schedule, machine, false);
      SimulatedMachine device(engine, machine, schedule, costs, 1);
      const StreamOrder order(schedule, {});
      ScheduleRun run(engine, device, order, 1);
      run.prepare(1);
      run.run();
      const double bytes = 65536.0 * 2048, ports = tests::port_bytes(transport, gpus, bytes);
      EXPECT_NEAR(device.served(0).in, ports, 1e-9 * ports);
      EXPECT_NEAR(device.served(0).out, ports, 1e-9 * ports);
      // Every partial sum is read and every normed row written here; the own residuals are read and written (in place).
      const double hbm = 2 * bytes + bytes / gpus;
      EXPECT_NEAR(device.served(0).hbm, hbm, 1e-9 * hbm);
    }
}

TEST(AllReduceNorm, HoldsItsSmsFromItsDispatchToItsEnd) {
  Schedule schedule = fused_alone(65536, 4, 8);
  Schedule alone = schedule;
  for (Schedule* one : {&schedule, &alone}) {
    one->streams.push_back({"s1", 0});
    one->buffers.push_back(buffer("a", 4096, 4096));
    one->buffers.push_back(buffer("c", 4096, 4096));
    const auto whole = [](BufferId id) { return Slice{.buffer = id, .rows = RowRange{0, 4096}, .columns = 4096}; };
    Gemm gemm;
    gemm.a = gemm.b = whole(3), gemm.c = whole(4);
    gemm.kernel = GemmKernel{};
    one->operations.push_back({"gemm", 1, {}, gemm});
  }
  alone.operations.erase(alone.operations.begin());
  Machine machine = test_machine();
  machine.fused_norm_kernel->registers_per_thread = 64;  // of 1024 threads: all of an SM
  const auto gemm_us = [&machine](const Schedule& one) {
    const Trace trace =
        SimulatedExecutor({.spans = true, .mechanisms = {.power = false, .hbm = false, .l2 = false, .links = false}})
            .run(one, machine);
    for (const Span& span : trace.spans)
      if (span.operation == "gemm") return span.end_us - span.start_us;
    return 0.0;
  };
  EXPECT_GT(gemm_us(schedule), 1.2 * gemm_us(alone));  // 8 of 16 SMs are held for a part of it
}

TEST(AllReduceNorm, RanksMeetAtItsEntryAndItsExit) {
  Schedule schedule = fused_alone(64, 4, 4);
  const auto whole = [](BufferId id) { return Slice{.buffer = id, .rows = RowRange{0, 64}, .columns = 1024}; };
  const Operation write{"write", 0, {}, MemoryBound{MemoryKernel::fill, {}, {whole(0)}}};
  const Operation read{"read", 0, {}, MemoryBound{MemoryKernel::gather, {whole(2)}, {whole(1)}}};
  schedule.operations.insert(schedule.operations.begin(), write);
  schedule.operations.push_back(read);
  validate(schedule);
  EXPECT_TRUE(find_races(schedule).empty());
}

TEST(AllReduceNorm, RacesWithWhatNothingOrders) {
  Schedule schedule = fused_alone(64, 4, 4);
  schedule.streams.push_back({"s1", 0});
  const Slice whole{.buffer = 0, .rows = RowRange{0, 64}, .columns = 1024};
  schedule.operations.push_back({"write", 1, {}, MemoryBound{MemoryKernel::fill, {}, {whole}}});
  EXPECT_FALSE(find_races(schedule).empty());
}

TEST(AllReduceNorm, BadSlicesAreRefused) {
  const auto error = [](auto change) {
    Schedule schedule = fused_alone(64, 4, 4);
    change(schedule, std::get<AllReduceNorm>(schedule.operations[0].work));
    return error_of([&] { validate(schedule); });
  };
  EXPECT_EQ(error([](Schedule& schedule, AllReduceNorm&) { schedule.buffers[2].memory = Memory::local; }),
            "operations[0].all_reduce_norm.normed: expected symmetric memory: buffer \"normed\" is local");
  EXPECT_EQ(error([](Schedule&, AllReduceNorm& work) {
              for (Slice* slice : {&work.partial, &work.residual, &work.normed}) slice->rows = RowRange{0, 62};
            }),
            "operations[0].all_reduce_norm.partial: expected rows that divide by 4 GPUs, got 62");
  EXPECT_EQ(error([](Schedule&, AllReduceNorm& work) { work.transport = Transport::nccl; }),
            "operations[0].all_reduce_norm.transport: expected peer_kernel or multicast, got nccl");
  EXPECT_EQ(error([](Schedule&, AllReduceNorm& work) { work.ctas = 0; }),
            "operations[0].all_reduce_norm.ctas: expected at least 1, got 0");
  EXPECT_EQ(error([](Schedule&, AllReduceNorm& work) {
              work.residual.rows = RowRange{0, 32};
            }),
            "operations[0].all_reduce_norm.residual: expected 64 x 1024, got 32 x 1024");
}

}  // namespace all_reduce_norm_test
}  // namespace weft::sim
