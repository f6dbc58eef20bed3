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

/// A GEMM with a CTA on each SM, and a kernel that waits for nothing as soon as they are there.
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
  schedule.operations.push_back({"wait", 1, {{1, Point::all_ctas_started}}, std::move(waiting)});
  return schedule;
}

/// When the waiting kernel ends, as a share of the GEMM's end. Of the SM's shared memory the GEMM leaves `left` bytes.
double end_of_wait(Work waiting, Bytes left) {
  Machine machine = test_machine();
  machine.gpu.shared_memory_reserve = 1024;
  machine.gemm.shared_memory_beside_operands = machine.gpu.shared_memory_per_sm - 1024 - operands - left;
  const Trace trace = SimulatedExecutor().run(beside_a_gemm(std::move(waiting)), machine);
  double gemm_us = 0, wait_us = 0;
  for (const Span& span : trace.spans) {
    if (span.operation == "gemm") gemm_us = span.end_us;
    if (span.operation == "wait") wait_us = span.end_us;
  }
  return wait_us / gemm_us;
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

}  // namespace waiting_cta_test
}  // namespace weft::sim
