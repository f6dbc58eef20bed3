// At which clock the SMs ran: their own cycle counters, read on the stream that is timed. The driver's sensor shows one
// moment of one GPU; the mean over a stretch decides how long its kernels took.
#pragma once

#include <cstdint>
#include <vector>

#include "calibration/device/handles.hpp"
#include "models/execution/timing_protocol.hpp"

namespace weft::calibration::device {

/// Time between two readings, by their numbers.
struct Stretch {
  int first = 0, last = 0;
};

class SmClocks {
 public:
  /// Of all periods that a run may have. Beside a guest a round, which is half of a turn at least, takes two readings.
  static constexpr int most_readings = most_windows * (2 * static_cast<int>(2 * rounds_ms / turn_ms) + 1);

  SmClocks();

  /// Forgets all readings; none may be under way.
  void restart() { taken_ = 0; }
  /// Enqueues a reading of a few microseconds behind what the stream holds; returns its number, from 0. There is room
  /// for `most_readings`.
  int read(cudaStream_t stream);
  /// Mean clock over stretches, one after the other, whose readings have run: of the middle SM, in MHz; 0 where no SM
  /// was met by all.
  double mean_MHz(const std::vector<Stretch>& stretches) const;

 private:
  DeviceMemory memory_;
  int taken_ = 0;
};

}  // namespace weft::calibration::device
