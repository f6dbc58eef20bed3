// How the iterations of a schedule follow one another, and so which of them have to be simulated.
#pragma once

#include "models/machine/fabric.hpp"
#include "sim/stream_order.hpp"

namespace weft::sim {

enum class Regime {
  /// Operations that begin a graph start in one order or another: the mean of an iteration with each counts.
  racing,
  /// Equal ranks run a graph: each iteration starts from rest, so the first is as good as any.
  from_rest,
  /// Ranks differ and nothing holds them in step, so that no two iterations are alike: the mean of many counts.
  adrift,
  /// Ranks differ and meet in every iteration of a graph: the mean counts but for the first, which they begin together.
  meeting,
  /// The host launches operation by operation, and may fall behind or get ahead: simulated until it repeats itself.
  host_driven,
};

/// `ranks` that are simulated: 1 when all are the same.
Regime regime_of(const StreamOrder& order, int ranks);

/// As much of it, over links that are as good: only chance makes one of them slower than another, for a while.
bool ranks_do_the_same(const Schedule& schedule, FabricKind fabric);

}  // namespace weft::sim
