// What may be asked of a simulation besides a schedule's time.
#pragma once

#include <vector>

#include "sim/mechanisms.hpp"

namespace weft::sim {

struct SimulationOptions {
  bool spans = true;  ///< record the last iteration's spans
  Mechanisms mechanisms;
  /// By operation: it is on its rank's computing or transferring unit for so long (ideal_units.hpp), whatever it would
  /// cost; below 0: it costs what it costs. Empty: all do. Operations that only synchronise take none.
  std::vector<double> given_us = {};
};

/// For those who ask for times alone.
inline const SimulationOptions times_only{.spans = false, .mechanisms = {}, .given_us = {}};

}  // namespace weft::sim
