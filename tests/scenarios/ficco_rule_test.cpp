#include "scenarios/ficco_rule.hpp"

#include <gtest/gtest.h>

#include "tests/scenarios/program_text.hpp"

namespace weft::scenarios {
namespace ficco_rule_test {

// 1e8 flops a us: the threshold of 12.5 ms is 1.25e12 operations, five times that 6.25e12.
Ficco rule(std::int64_t m, std::int64_t n, std::int64_t k) {
  return ficco_rule({PairOp::all_gather_gemm, m, n, k}, round_machine());
}

TEST(FiccoRule, CutsTheShorterOfRowsAndK) {
  EXPECT_EQ(rule(1024, 64, 1024).chunks, FiccoChunks::rows_and_columns);
  EXPECT_EQ(rule(1024, 64, 1023).chunks, FiccoChunks::rows);
}

TEST(FiccoRule, TakesTheScheduleOfTheGemmsSize) {
  const Ficco small = rule(8192, 1024, 64), middle = rule(16384, 8192, 8192), large = rule(32768, 16384, 16384);
  EXPECT_EQ(small, (Ficco{FiccoCompute::uniform, FiccoGemm::fused, FiccoChunks::rows, FiccoTransport::copy_engine}));
  EXPECT_EQ(middle, (Ficco{FiccoCompute::hetero, FiccoGemm::fused, FiccoChunks::rows, FiccoTransport::copy_engine}));
  EXPECT_EQ(large, (Ficco{FiccoCompute::hetero, FiccoGemm::unfused, FiccoChunks::rows, FiccoTransport::copy_engine}));
}

}  // namespace ficco_rule_test
}  // namespace weft::scenarios
