// What comes from HBM, by what was touched before it.
#include "sim/l2_state.hpp"

#include <gtest/gtest.h>

#include "tests/schedule_parts.hpp"
#include "tests/sim/test_machine.hpp"

namespace weft::sim {
namespace l2_state_test {

constexpr std::int64_t side = 1024;
constexpr double square_bytes = 2.0 * side * side;

/// c = a b and then c += a b, with square matrices.
Schedule product_and_sum() {
  Schedule schedule;
  schedule.gpus = 1;
  schedule.streams.push_back({"main", 0});
  Gemm gemm;
  gemm.a = tests::add_buffer(schedule, "a", side, side);
  gemm.b = tests::add_buffer(schedule, "b", side, side);
  gemm.c = tests::add_buffer(schedule, "c", side, side);
  schedule.operations.push_back({"product", 0, {}, gemm});
  gemm.addend = gemm.c;
  schedule.operations.push_back({"sum", 0, {}, gemm});
  return schedule;
}

Machine machine_that_holds(double bytes) {
  Machine machine = test_machine();
  machine.gpu.l2_bytes = static_cast<Bytes>(bytes);
  machine.gpu.l2_lost_bytes = machine.gpu.l2_bytes + 1;
  return machine;
}

TEST(L2State, KeepsWhatAGemmAddsToWhereEverythingFits) {
  const std::vector<MemoryTraffic> traffic = memory_traffic(product_and_sum(), machine_that_holds(100 * square_bytes));
  EXPECT_EQ(traffic[0].addend_bytes, 0);
  EXPECT_EQ(traffic[1].addend_bytes, square_bytes);
  EXPECT_EQ(traffic[1].addend_hbm_bytes, 0);
  EXPECT_EQ(traffic[1].hbm_bytes, 0);
}

// Three matrices lie between what the product writes and what the sum reads: a, b and c itself.
TEST(L2State, HasLostWhatAGemmAddsToBehindWhatItReadsFirst) {
  const auto of_sum = [](double matrices) {
    return memory_traffic(product_and_sum(), machine_that_holds(matrices * square_bytes))[1];
  };
  EXPECT_EQ(of_sum(3).addend_hbm_bytes, 0);
  EXPECT_EQ(of_sum(2.9).addend_hbm_bytes, square_bytes);
  EXPECT_EQ(of_sum(2.9).hbm_bytes, 4 * square_bytes);  // a, b, and c twice: what is read from memory went there before
}

}  // namespace l2_state_test
}  // namespace weft::sim
