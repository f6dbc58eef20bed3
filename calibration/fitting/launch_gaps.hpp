// Gaps between the nodes of a CUDA graph, read off the start and end times of its kernels.
#pragma once

#include <optional>
#include <vector>

#include "calibration/hardware.hpp"

namespace weft::calibration::fitting {

/// The kernels of one iteration of a GEMM and a collective that depend on each other, whole or in equal chunks.
struct RecordedPair {
  bool is_serial = true;  ///< one stream; otherwise chunks, GEMMs and collectives on a stream each
  bool collective_comes_first = false;
  std::vector<KernelRecord> kernels;
};

/// Each sample is the time on one GPU from the last end among the predecessors to the start of the kernel itself.
struct GapSamples {
  std::vector<double> kernel;      ///< a GEMM that waits for one node
  std::vector<double> reset;       ///< the same for a GEMM whose tile counter is filled first, by a memset
  std::vector<double> fill;        ///< and by a kernel of ours
  std::vector<double> collective;  ///< a collective that waits for one node
  std::vector<double> join;        ///< a node that waits for two and has the GPU for itself
};

/// Medians of the samples; empty without samples.
struct LaunchGaps {
  std::optional<double> kernel_us, collective_us, join_us;
  std::optional<double> counter_reset_us, counter_fill_us;  ///< what each fill adds to the gap before a GEMM
};

GapSamples collect_gaps(const std::vector<RecordedPair>& pairs);
LaunchGaps launch_gaps(const GapSamples& samples);

bool is_counter_fill(const KernelRecord& kernel);
bool is_nccl_kernel(const KernelRecord& kernel);

}  // namespace weft::calibration::fitting
