// At which clock the SMs ran: their own cycle counters, read on the stream that is timed. The driver's sensor shows one
// moment of one GPU; the mean over a stretch decides how long its kernels took.
#pragma once

#include <cstdint>

#include "calibration/device/handles.hpp"

namespace weft::calibration::device {

class SmClocks {
 public:
  static constexpr int most_readings = 64;

  SmClocks();

  /// Forgets all readings; none may be under way.
  void restart() { taken_ = 0; }
  /// Enqueues a reading of a few microseconds behind what the stream holds; returns its number, from 0. There is room
  /// for `most_readings`.
  int read(cudaStream_t stream);
  /// Mean clock between two readings that have run: of the middle SM, in MHz; 0 where no SM was met by both.
  double mean_MHz(int first, int last) const;

 private:
  DeviceMemory memory_;
  int taken_ = 0;
};

}  // namespace weft::calibration::device
