// Kernels that wait begin where a GEMM leaves them room.
#include "sim/waiting_cta.hpp"

#include <gtest/gtest.h>

#include "sim/simulated_executor.hpp"
#include "tests/schedule_parts.hpp"
#include "tests/sim/test_machine.hpp"

namespace weft::sim {
namespace waiting_cta_test {

constexpr int tile = 128;
constexpr GemmKernel kernel{.tile_m = tile, .tile_n = tile, .tile_k = 64, .stages = 4};
constexpr Bytes operands = Bytes{kernel.stages} * 2 * tile * kernel.tile_k * 2;

/// A GEMM with a CTA on each SM, and a kernel that waits for nothing once they are there.
Schedule beside_a_gemm(Work waiting) {
  const std::int64_t rows = test_machine().gpu.sms() * tile, columns = tile, depth = 4096;
  Schedule schedule;
  schedule.gpus = 1;
  Gemm gemm;
  gemm.a = tests::add_buffer(schedule, "a", rows, depth);
  gemm.b = tests::add_buffer(schedule, "b", columns, depth);
  gemm.c = tests::add_buffer(schedule, "c", rows, columns);
  gemm.kernel = kernel;
  schedule.counters.push_back({"given", false});
  schedule.streams = {{"main", 0}, {"other", 0}};
  schedule.operations.push_back({"signal", 0, {}, Signal{.counter = 0}});
  schedule.operations.push_back({"gemm", 0, {}, gemm});
  schedule.operations.push_back({"pause", 1, {{0, Point::end}}, Delay{5}});
  schedule.operations.push_back({"wait", 1, {}, std::move(waiting)});
  return schedule;
}

/// When "wait" ends, as a share of the GEMM's end.
double end_of_wait(const Schedule& schedule, const Machine& machine) {
  const Trace trace = SimulatedExecutor().run(schedule, machine);
  double gemm_us = 0, wait_us = 0;
  for (const Span& span : trace.spans) {
    if (span.operation == "gemm") gemm_us = span.end_us;
    if (span.operation == "wait") wait_us = span.end_us;
  }
  return wait_us / gemm_us;
}
/// Of the SM's shared memory the GEMM leaves `left` bytes.
double end_of_wait(Work waiting, Bytes left) {
  Machine machine = test_machine();
  machine.gpu.shared_memory_reserve = 1024;
  machine.gemm.shared_memory_beside_operands = machine.gpu.shared_memory_per_sm - 1024 - operands - left;
  return end_of_wait(beside_a_gemm(std::move(waiting)), machine);
}

TEST(WaitingCta, BeginsBesideAGemmThatLeavesItsReserve) {
  EXPECT_LT(end_of_wait(Barrier{}, 1024), 0.5);
  EXPECT_LT(end_of_wait(Wait{.counter = 0}, 1024), 0.5);
}

TEST(WaitingCta, BeginsWhenAGemmThatLeavesLessEnds) {
  EXPECT_GT(end_of_wait(Barrier{}, 1023), 0.9);  // what is left then is the last store
  EXPECT_GT(end_of_wait(Wait{.counter = 0}, 1023), 0.9);
}

TEST(WaitingCta, IsWhatAKernelThatSignalsHas) {
  EXPECT_LT(end_of_wait(Signal{.counter = 0}, 1024), 0.5);
  EXPECT_GT(end_of_wait(Signal{.counter = 0}, 1023), 0.9);
}

TEST(WaitingCta, IsNoneWhereNoKernelWaitsOrSignals) {
  EXPECT_LT(end_of_wait(Wait{.counter = 0, .path = WaitPath::stream_memory_operation}, 1023), 0.5);
  EXPECT_LT(end_of_wait(Signal{.counter = 0, .path = SignalPath::stream_write}, 1023), 0.5);
  EXPECT_LT(end_of_wait(Signal{.counter = 0, .path = SignalPath::copied_word}, 1023), 0.5);
}

/// When what follows the start of a GEMM of the library begins, of 384 threads with so many registers each.
double known_start(int registers_per_thread, int max_sms) {
  Machine machine = test_machine();
  machine.gpu.registers_per_sm = 65536;
  machine.gemm.threads_per_cta = 384;
  machine.gemm.registers_per_thread = registers_per_thread;
  Schedule schedule = beside_a_gemm(Delay{0});
  auto& gemm = std::get<Gemm>(schedule.operations[1].work);
  gemm.kernel->scheduler = TileScheduler::static_persistent;
  gemm.max_sms = max_sms;
  schedule.operations[2].work = Delay{0};
  schedule.operations[3].after = {{1, Point::all_ctas_started}};
  return end_of_wait(schedule, machine);
}

TEST(WaitingCta, TellsOfAStartOnceAnSmHasRegistersForAWarp) {
  EXPECT_GT(known_start(168, 0), 0.9) << "three warps of a part of an SM leave 256 of its registers";
  EXPECT_LT(known_start(160, 0), 0.5) << "they leave 1,024";
  EXPECT_LT(known_start(168, test_machine().gpu.sms() - 2), 0.5) << "two SMs are left";
}

}  // namespace waiting_cta_test
}  // namespace weft::sim
