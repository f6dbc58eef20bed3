// Curves of a machine profile out of single measurements of collectives.
#pragma once

#include <optional>
#include <vector>

#include "models/machine/machine.hpp"

namespace weft::calibration::fitting {

/// A collective's settings: each has a curve of its own.
struct CollectiveSetting {
  CollectiveKind kind = CollectiveKind::all_reduce;
  int gpus = 0;
  int max_ctas = 0;  ///< 0: the library's default
  Transport transport = Transport::nccl;
  auto operator<=>(const CollectiveSetting&) const = default;
};

struct CollectiveObservation {
  CollectiveSetting setting;
  Bytes bytes = 0;
  double time_us = 0;                 ///< from one graph launch to the next
  std::optional<double> kernel_us{};  ///< on the GPU that waited least for the others
  int ctas = 0;                       ///< of the recorded kernel; 0: not recorded
};

/// The CTAs that a kernel of this setting was launched with.
struct CtaObservation {
  CollectiveSetting setting;
  int ctas = 0, cluster = 1;
};

/// One curve for each setting with at least two sizes, in the order of the settings. A point is the median of what was
/// measured at that size; what a graph takes beyond its kernel is smoothed over neighbouring sizes. CTAs and clusters
/// are those of the kernels; where none of the setting was recorded, the default of the same kind (then of `known`
/// curves) up to the setting's limit, in clusters of four, two or one. Copy engines have none. Where the library takes
/// another protocol is found by mark_protocol_changes(). Throws ExecutionError where no default is known.
std::vector<CollectiveCurve> build_curves(const std::vector<CollectiveObservation>& observations,
                                          const std::vector<CtaObservation>& ctas,
                                          const std::vector<CollectiveCurve>& known, double collective_graph_gap_us);

}  // namespace weft::calibration::fitting
