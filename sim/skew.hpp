// How far apart ranks are that a perfect machine would keep in step. In perfect lockstep pulls of several peers never
// meet at one source; on hardware ranks start, leave barriers and compute a little apart, and they do.
#pragma once

#include <cstdint>

namespace weft::sim {

/// Where a rank stands between the earliest (0) and the latest (1, never reached) on some occasion: evenly spread over
/// ranks and occasions, the same in every run. Multiples of the golden ratio leave the largest gaps between each other.
inline double lateness(int rank, int occasion) {
  constexpr unsigned range = 1u << 16, golden = 40503, silver = 27146;  // range x 0.618 and range x 0.4142
  const unsigned place = static_cast<unsigned>(rank) * golden + static_cast<unsigned>(occasion) * silver;
  return static_cast<double>(place % range) / range;
}

/// As random as a throw of dice in [0, 1), and the same in every run: what adds up from throw to throw wanders off, as
/// ranks do that nothing holds in step. (splitmix64's finalizer, Steele, Lea and Flood, OOPSLA 2014.)
inline double throw_of(int rank, int occasion) {
  std::uint64_t bits =
      (static_cast<std::uint64_t>(static_cast<unsigned>(rank)) << 32) + static_cast<unsigned>(occasion);
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
  return static_cast<double>((bits ^ (bits >> 31)) >> 11) / static_cast<double>(std::uint64_t{1} << 53);
}

}  // namespace weft::sim
