// Units that every folder speaks. Simulated time is an integer number of picoseconds, so that the order of
// events and the results are the same on every run and machine.
#pragma once

#include <compare>
#include <cstdint>

#include "models/base/input_error.hpp"

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

/// No simulation comes so far (27 days), so that a few times can be added up without a thought of overflow.
inline constexpr Picoseconds end_of_time{std::int64_t{1} << 61};

/// Nearest picosecond. Throws InputError for a time that does not lie before the end of time.
inline Picoseconds from_us(double time_us) {
  const double time_ps = time_us * picoseconds_per_us;
  if (!(time_ps < static_cast<double>(end_of_time.count)))
    throw InputError("", "expected times below 27 days, got one of " + std::to_string(time_us) + " us");
  const auto whole = static_cast<std::int64_t>(time_ps);  // rounded towards 0, which std::llround() is a call for
  const double rest = time_ps - static_cast<double>(whole);
  return {whole + (rest >= 0.5 ? 1 : 0) - (rest <= -0.5 ? 1 : 0)};
}
constexpr double to_us(Picoseconds time) { return static_cast<double>(time.count) / picoseconds_per_us; }

/// 1 GBps = 1e9 bytes/s = 1e3 bytes/us.
constexpr double bytes_per_us(double GBps) { return GBps * 1e3; }

}  // namespace weft
