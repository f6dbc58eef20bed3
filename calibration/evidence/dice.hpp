// Random numbers that are the same on every platform: the standard fixes the bits of the generator, not those of its
// distributions, so these use the operations that IEEE 754 rounds alike everywhere.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "models/base/input_error.hpp"
#include "models/base/json_object.hpp"

namespace weft::calibration::evidence {

/// Of a user. Throws InputError for one above 2^53, as one below 0 becomes on a command line.
inline void require_seed(std::uint64_t seed) {
  if (seed > std::uint64_t{max_json_integer})
    throw InputError("seed", "expected 0 to " + std::to_string(max_json_integer) + ", got another number");
}

class Dice {
 public:
  /// Each stream of a seed gives numbers of its own.
  Dice(std::uint64_t seed, std::uint32_t stream) {
    std::seed_seq sequence{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32), stream};
    generator_.seed(sequence);
  }

  /// From 0 to count - 1. The remainder's bias is below count / 2^64.
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(generator_() % count); }
  bool one_in(std::size_t count) { return below(count) == 0; }

  template <class Value>
  const Value& pick(const std::vector<Value>& values) {
    return values[below(values.size())];
  }

  /// Each value in [low, high) as likely as its share of the logarithm: low x (high / low)^(0.b1 b2 b3 …), where bit i
  /// of the exponent multiplies by the 2^i-th root of the quotient.
  double log_uniform(double low, double high) {
    constexpr int bits_of_a_double = 53;
    double value = low, root = high / low;
    std::uint64_t bits = generator_();
    for (int bit = 0; bit < bits_of_a_double; ++bit, bits >>= 1) {
      root = std::sqrt(root);
      if (bits % 2 == 1) value *= root;
    }
    return value;
  }

  /// A whole number by the same law, rounded down to a multiple of `unit` that is at least `unit`.
  std::int64_t log_uniform_multiple(std::int64_t unit, double low, double high) {
    return multiple(static_cast<std::int64_t>(log_uniform(low, high)), unit);
  }
  static std::int64_t multiple(std::int64_t value, std::int64_t unit) { return std::max(unit, value / unit * unit); }

  template <class Value>
  void shuffle(std::vector<Value>& values) {
    for (std::size_t left = values.size(); left > 1; --left) std::swap(values[left - 1], values[below(left)]);
  }

 private:
  std::mt19937_64 generator_;
};

}  // namespace weft::calibration::evidence
