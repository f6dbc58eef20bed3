// Whether a schedule computes what it says, in many runs.
#pragma once

#include <string>

#include "sim/meaning/numerical_meaning.hpp"

namespace weft::sim {

inline constexpr int seeds = 40;

/// "" where every seed gives the right result, else what was wrong first.
inline std::string failure_of(const Schedule& schedule, int runs = seeds) {
  for (int seed = 0; seed < runs; ++seed)
    if (const auto wrong = meaning::check_meaning(schedule, static_cast<std::uint64_t>(seed))) return describe(*wrong);
  return "";
}

}  // namespace weft::sim
