// Copies within one GPU: whole pages go faster than anything else, and only what the L2 does not hold loads the memory.
#include <gtest/gtest.h>

#include "sim/simulated_executor.hpp"
#include "tests/schedule_parts.hpp"
#include "tests/sim/test_machine.hpp"

namespace weft::sim {
namespace local_copy_test {

constexpr double setup_us = 1;  // copy_engines.local_setup

/// The time that a copy of so many rows of 4 KiB less `columns_off` elements takes, by itself.
double copy_us(const Machine& machine, std::int64_t rows, std::int64_t columns_off = 0) {
  Schedule schedule;
  schedule.gpus = 1;
  schedule.streams = {{"s0"}};
  const std::int64_t columns = 2048 - columns_off;
  Copy copy;
  copy.source = tests::add_buffer(schedule, "from", rows, columns);
  copy.destination = tests::add_buffer(schedule, "to", rows, columns);
  schedule.operations = {{"copy", 0, {}, copy}};
  const Trace trace = SimulatedExecutor().run(schedule, machine);
  return trace.spans.at(0).end_us - trace.spans.at(0).start_us;
}

Machine with_pages_at(double GBps) {
  Machine machine = test_machine();
  machine.copy_engines.local_page_GBps = GBps;
  return machine;
}

TEST(LocalCopy, OfWholePagesHasARateOfItsOwn) {
  const Machine machine = with_pages_at(800);
  EXPECT_NEAR(copy_us(machine, 500), setup_us + 500 * 4096 / 800e3, 0.01);
  EXPECT_NEAR(copy_us(machine, 500, 8), setup_us + 500 * 4080 / 400e3, 0.01);
}

TEST(LocalCopy, HasOneRateWhereTheProfileSaysOne) {
  EXPECT_NEAR(copy_us(with_pages_at(0), 500), setup_us + 500 * 4096 / 400e3, 0.01);
}

// 2 x 40 MB are more than an L2 of 10 MB holds from one iteration to the next: each byte is read and written.
TEST(LocalCopy, OfMoreThanTheL2HoldsIsHeldByTheMemory) {
  EXPECT_NEAR(copy_us(with_pages_at(800), 10'000), setup_us + 2 * 10'000 * 4096 / 1000e3, 0.1);
}

}  // namespace local_copy_test
}  // namespace weft::sim
