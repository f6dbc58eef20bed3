// Copies within one GPU: whole pages go faster than anything else, and only what the L2 does not hold loads the memory.
#include <gtest/gtest.h>

#include <algorithm>

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

/// The longest of two ranks that copy so many rows of 4 KiB each, by themselves.
double slowest_of_two_us(std::int64_t rows_of_first, std::int64_t rows_of_second) {
  const std::int64_t rows = std::max(rows_of_first, rows_of_second);
  Schedule schedule;
  schedule.gpus = 2;
  schedule.streams = {{"s0"}};
  Copy copy;
  copy.source = tests::add_buffer(schedule, "from", rows, 2048);
  copy.destination = tests::add_buffer(schedule, "to", rows, 2048);
  copy.source.rows = copy.destination.rows = RankRows{{{0, rows_of_first}, {0, rows_of_second}}};
  schedule.operations = {{"copy", 0, {}, copy}};
  const Trace trace = SimulatedExecutor().run(schedule, test_machine());
  double end_us = 0;
  for (const Span& span : trace.spans)
    if (span.gpu == 1) end_us = std::max(end_us, span.end_us - span.start_us);
  return end_us;
}

// How much of it the memory has to bring is known of the rank with most rows: another one's bytes cost no more.
TEST(LocalCopy, OfFewRowsIsNoSlowerBesideARankThatHasMany) {
  EXPECT_NEAR(slowest_of_two_us(10'000, 5'000), slowest_of_two_us(5'000, 5'000), 0.5);
}

}  // namespace local_copy_test
}  // namespace weft::sim
