// What an iteration is taken for before it has been simulated.
#pragma once

#include <vector>

#include "sim/energy.hpp"
#include "sim/operation_cost.hpp"
#include "sim/stream_order.hpp"

namespace weft::sim {

struct Sketch {
  double time_us = 0, power_W = 0;  ///< the latter is a mean
  std::vector<PowerSpan> spans;     ///< by operation
};

/// Operations run one after the other, each as long as it takes alone. That is nearly so where there is one stream;
/// those of several overlap, but then they slow each other down, too. No iteration is shorter than `least_us`.
Sketch one_after_the_other(const StreamOrder& order, const std::vector<OperationCost>& costs,
                           const IterationEnergy& energy, const Machine& machine, double clock_share, double least_us);

}  // namespace weft::sim
