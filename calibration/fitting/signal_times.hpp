// Times of kernels that signal and of kernels that wait, read off the start and end times of recorded kernels.
#pragma once

#include <optional>
#include <vector>

#include "calibration/hardware.hpp"
#include "models/schedule/schedule.hpp"

namespace weft::calibration::fitting {

struct SignalSamples {
  /// From the end of a GEMM whose last tiles raise a counter until the kernel that waits for it has ended: below 0
  /// where that is before the GEMM's last CTA has left.
  std::vector<double> seen_us;
  std::vector<double> sent_us;   ///< from the start of a kernel that signals until the one that waits for it has ended
  std::vector<double> found_us;  ///< what a kernel takes that waits for a counter which is there already
};

/// Adds those of one iteration of a schedule whose signals and waits are operations of their own. GPUs are ranks; where
/// a signal crosses them, their clocks are CUPTI's.
void add_signals(SignalSamples& samples, const Schedule& schedule, const std::vector<KernelRecord>& kernels);

/// Adds those of one iteration of a GEMM of ours for whose groups of tiles kernels wait in turn, on a stream beside it.
void add_tile_groups(SignalSamples& samples, const std::vector<KernelRecord>& kernels);

/// As `Latencies` has them, each empty without samples: medians. A wait ends `signal` after its counter is there, so
/// that the other two are what is left; `signal_us` is taken where there are no samples of it. None is below 0.
struct SignalTimes {
  std::optional<double> signal_us, signal_kernel_us, wait_kernel_us;
};
SignalTimes signal_times(const SignalSamples& samples, double signal_us);

}  // namespace weft::calibration::fitting
