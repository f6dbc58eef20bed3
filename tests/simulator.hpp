// The simulator, for tests that hand it to studies.
#pragma once

#include "sim/simulated_executor.hpp"

namespace weft::tests {

/// Without spans. Runs share nothing, so that one serves all.
inline sim::SimulatedExecutor& simulator() {
  static sim::SimulatedExecutor executor(sim::times_only);
  return executor;
}

}  // namespace weft::tests
