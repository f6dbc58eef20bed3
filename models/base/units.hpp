// Units that every folder speaks. Simulated time is an integer number of picoseconds, so that the order of
// events and the results are the same on every run and machine.
#pragma once

#include <cmath>
#include <compare>
#include <cstdint>

namespace weft {

using Bytes = std::int64_t;
using Flops = double;  // operations, not a rate

struct Picoseconds {
  std::int64_t count = 0;

  friend constexpr auto operator<=>(Picoseconds, Picoseconds) = default;
  friend constexpr Picoseconds operator+(Picoseconds a, Picoseconds b) { return {a.count + b.count}; }
  friend constexpr Picoseconds operator-(Picoseconds a, Picoseconds b) { return {a.count - b.count}; }
  friend constexpr Picoseconds operator*(Picoseconds a, std::int64_t n) { return {a.count * n}; }
  constexpr Picoseconds& operator+=(Picoseconds b) { return count += b.count, *this; }
};

inline constexpr double picoseconds_per_us = 1e6;

/// Nearest picosecond; `time_us` must be below 9e12 (a hundred days).
inline Picoseconds from_us(double time_us) { return {std::llround(time_us * picoseconds_per_us)}; }
constexpr double to_us(Picoseconds time) { return static_cast<double>(time.count) / picoseconds_per_us; }

/// 1 GBps = 1e9 bytes/s = 1e3 bytes/us.
constexpr double bytes_per_us(double GBps) { return GBps * 1e3; }

}  // namespace weft
