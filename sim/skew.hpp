// How far apart ranks are that a perfect machine would keep in step. In perfect lockstep pulls of several peers never
// meet at one source; on hardware ranks start, leave barriers and compute a little apart, and they do.
#pragma once

namespace weft::sim {

/// Where a rank stands between the earliest (0) and the latest (1, never reached) on some occasion: evenly spread over
/// ranks and occasions, the same in every run. Multiples of the golden ratio leave the largest gaps between each other.
inline double lateness(int rank, int occasion) {
  constexpr unsigned range = 1u << 16, golden = 40503, silver = 27146;  // range x 0.618 and range x 0.4142
  const unsigned place = static_cast<unsigned>(rank) * golden + static_cast<unsigned>(occasion) * silver;
  return static_cast<double>(place % range) / range;
}

}  // namespace weft::sim
