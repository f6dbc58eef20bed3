// What the simulator and the real GPUs have in common.
#pragma once

#include "models/execution/execution_error.hpp"
#include "models/execution/trace.hpp"
#include "models/machine/machine.hpp"
#include "models/schedule/schedule.hpp"

namespace weft {

class Executor {
 public:
  virtual ~Executor() = default;
  /// Runs the schedule until its iteration time is steady. Throws InputError for a schedule that this executor or
  /// machine cannot run, with the reason, and ExecutionError when the run itself fails (deadlock, a dead rank).
  virtual Trace run(const Schedule& schedule, const Machine& machine) = 0;
};

}  // namespace weft
