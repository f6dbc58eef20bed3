#include "models/base/e4m3.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace e4m3_test {

TEST(E4m3, HasTheNumbersOfItsPaper) {
  EXPECT_EQ(value_of_e4m3(0x7E), 448);
  EXPECT_EQ(value_of_e4m3(0x08), 0x1p-6F) << "the least normal one";
  EXPECT_EQ(value_of_e4m3(0x07), 0.875F * 0x1p-6F);
  EXPECT_EQ(value_of_e4m3(0x01), 0x1p-9F);
  EXPECT_EQ(value_of_e4m3(0xB8), -1);
  EXPECT_TRUE(std::isnan(value_of_e4m3(0x7F)) && std::isnan(value_of_e4m3(0xFF)));
}

TEST(E4m3, RoundingLeavesItsNumbersAlone) {
  for (int bits = 0; bits < 256; ++bits) {
    const float value = value_of_e4m3(static_cast<std::uint8_t>(bits));
    if (std::isnan(value)) continue;
    EXPECT_EQ(rounded_to_e4m3(value), value) << bits;
  }
}

TEST(E4m3, RoundsToTheNearestAndOfTwoToTheEvenOne) {
  for (int bits = 0; bits < 0x7E; ++bits) {
    const float below = value_of_e4m3(static_cast<std::uint8_t>(bits));
    const float above = value_of_e4m3(static_cast<std::uint8_t>(bits + 1));
    const float middle = (below + above) / 2, even = bits % 2 == 0 ? below : above;
    EXPECT_EQ(rounded_to_e4m3(middle), even) << bits;
    EXPECT_EQ(rounded_to_e4m3(std::nextafter(middle, 0.0F)), below) << bits;
    EXPECT_EQ(rounded_to_e4m3(-std::nextafter(middle, 500.0F)), -above) << bits;
  }
}

TEST(E4m3, SaturatesAndKeepsWhatIsNoNumber) {
  EXPECT_EQ(rounded_to_e4m3(1e6F), 448);
  EXPECT_EQ(rounded_to_e4m3(-449), -448);
  EXPECT_EQ(rounded_to_e4m3(std::numeric_limits<float>::infinity()), 448);
  EXPECT_TRUE(std::isnan(rounded_to_e4m3(std::numeric_limits<float>::quiet_NaN())));
}

TEST(E4m3, ErrorsStayWithinTheirBounds) {
  for (float value = 0x1p-12F; value < 448; value *= 1.0031F)
    EXPECT_LE(std::abs(rounded_to_e4m3(value) - value), std::max(e4m3_rounding * value, e4m3_least_rounding));
}

}  // namespace e4m3_test
}  // namespace weft
