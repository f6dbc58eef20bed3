// A predicted and a measured run of one schedule, operation by operation.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "models/execution/trace.hpp"

namespace weft {

/// Relative errors are predicted / measured - 1, and empty where the measured time is 0.
struct TimePair {
  double predicted_us = 0, measured_us = 0;
  std::optional<double> error() const;
};

/// One operation on all GPUs that both traces have it on. An operation that ran as several kernels counts from the
/// start of its first to the end of its last.
struct OperationComparison {
  std::string operation, kind;
  int gpus = 0;
  TimePair start;     ///< mean over the GPUs, from the start of the iteration
  TimePair duration;  ///< mean over the GPUs
  int worst_gpu = 0;  ///< where the error of the duration is largest
  TimePair worst_duration;
};

struct UnmatchedSpan {
  std::string trace;  ///< the only one that has it: "predicted" or "measured"
  std::string operation;
  int gpu = 0;
};

struct TraceComparison {
  TimePair total;                               ///< steady-state time of an iteration
  std::vector<OperationComparison> operations;  ///< in the order in which the predicted run starts them
  std::vector<UnmatchedSpan> unmatched;
  bool merged_ranks = false;  ///< the predicted trace has GPU 0 only, which stands for each measured GPU
};

TraceComparison compare(const Trace& predicted, const Trace& measured);

/// {"iteration": {"predicted_us", "measured_us", "error"}, "operations": [{"operation", "kind", "gpus", "duration",
/// "start", "worst_gpu", "worst_duration"}], "unmatched": [{"trace", "operation", "gpu"}], "merged_ranks"}.
nlohmann::ordered_json to_json(const TraceComparison& comparison);

}  // namespace weft
