// fp8 in the form that models with fp8 weights have, e4m3: a sign, four bits of exponent, three of significand, no
// infinities (Micikevicius et al., FP8 formats for deep learning, 2022, table 1).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace weft {

inline constexpr float e4m3_largest = 448;
/// Half a unit in the last place: relative, of numbers of at least 2^-6 with their 4 significant bits, and absolute, of
/// those below, which lie 2^-9 apart.
inline constexpr double e4m3_rounding = 0x1p-4, e4m3_least_rounding = 0x1p-10;

/// The nearest number of e4m3, of two the even one; what is larger than the largest becomes the largest.
inline float rounded_to_e4m3(float value) {
  if (std::isnan(value)) return value;
  constexpr int significant_bits = 4, least_exponent = -9;
  const float magnitude = std::min(std::abs(value), e4m3_largest);
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  const float step = std::ldexp(1.0F, std::max(exponent - significant_bits, least_exponent));
  return std::copysign(std::nearbyint(magnitude / step) * step, value);
}

/// The number that a byte says.
inline float value_of_e4m3(std::uint8_t bits) {
  const int exponent = bits >> 3 & 0xF, significand = bits & 0x7;
  float magnitude = exponent == 0 ? std::ldexp(static_cast<float>(significand), -9)
                                  : std::ldexp(static_cast<float>(8 + significand), exponent - 10);
  if (exponent == 0xF && significand == 0x7) magnitude = std::numeric_limits<float>::quiet_NaN();
  return (bits & 0x80) != 0 ? -magnitude : magnitude;
}

}  // namespace weft
