#include "models/base/harmonic_number.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace harmonic_number_test {

TEST(HarmonicNumber, AddsReciprocals) {
  EXPECT_EQ(harmonic_number(0), 0);
  EXPECT_EQ(harmonic_number(1), 1);
  EXPECT_DOUBLE_EQ(harmonic_number(4), 25.0 / 12);
}

}  // namespace harmonic_number_test
}  // namespace weft
