// An iteration as it is launched: one CUDA graph, or operation by operation.
#pragma once

#include "calibration/device/program.hpp"

namespace weft::calibration::device {

class Launcher {
 public:
  explicit Launcher(const Program& program) : program_(program) {}

  /// Captures the iteration where the schedule asks for a graph. The program must have run once before: libraries load
  /// modules and connect on first use, which a capture must not see.
  void prepare(const EnqueueHooks& hooks = {});
  /// One iteration, ordered after what the origin stream holds. The hooks matter to eager launches only.
  void launch(const EnqueueHooks& hooks = {}) const;
  bool is_graph() const { return program_.schedule().launch == Launch::graph; }

 private:
  const Program& program_;
  Graph graph_;
  GraphExec executable_;
};

}  // namespace weft::calibration::device
