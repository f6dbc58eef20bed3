#include "models/machine/gemm_networks.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace gemm_networks_test {

TEST(NetworkWeights, AreTheSameAfterTheirTextWasRead) {
  const NetworkWeights weights{0.41516F, -13.401F, 0, 5.9178e-5F, 1e4F};
  EXPECT_EQ(to_text(weights), "0.41516 -13.401 0 5.9178e-05 10000");
  EXPECT_EQ(weights_from_text(to_text(weights)), weights);
}

TEST(NetworkWeights, AreNumbersWithOneSpaceBetweenTwo) {
  for (const char* const text : {"", " 1", "1 ", "1  2", "1,2", "1\n2", "one", "nan", "inf", "10001", "-1e5"})
    EXPECT_EQ(weights_from_text(text), std::nullopt) << text;
}

}  // namespace gemm_networks_test
}  // namespace weft
