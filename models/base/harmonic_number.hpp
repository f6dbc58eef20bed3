// Sums of reciprocals, by addition alone: the same bits on every machine.
#pragma once

namespace weft {

/// 1 + 1/2 + … + 1/n; 0 of n < 1.
constexpr double harmonic_number(int n) {
  double sum = 0;
  for (int i = 1; i <= n; ++i) sum += 1.0 / i;
  return sum;
}

}  // namespace weft
