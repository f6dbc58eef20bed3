// One steady iteration under CUPTI, as spans and kernel records.
#pragma once

#include "calibration/device/launcher.hpp"
#include "calibration/device/profiler.hpp"
#include "calibration/hardware.hpp"

namespace weft::calibration::device {

struct RecordedIteration {
  std::vector<Span> spans;            ///< of this rank
  std::vector<KernelRecord> kernels;  ///< by start time
};

/// Warms up, launches some iterations back to back and returns the one that took the median time on rank 0. Times count
/// from the first start of that iteration on any rank. Collective.
RecordedIteration record_spans(const Program& program, RankView& ranks, Profiler& profiler);

}  // namespace weft::calibration::device
