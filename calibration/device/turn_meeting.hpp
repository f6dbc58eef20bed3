// Where schedules take turns all ranks begin each turn together. Without that, a rank that ends a schedule early (its
// GPU's clock is higher, or the schedule ends with a kernel that waits for nobody) is in the next one early and waits
// there for the others, so that the next one would seem to take longer than it does.
#pragma once

#include "calibration/device/rank_signals.hpp"

namespace weft::calibration::device {

class TurnMeeting {
 public:
  /// Collective. Throws ScheduleError, on all ranks, where GPUs cannot meet (RankSignals). `limit_s`: of each meeting.
  TurnMeeting(int rank, int ranks, SymmetricMemory& symmetric, const WaitNote& note, double limit_s);

  /// What follows on the stream begins when all ranks have come.
  void enqueue(cudaStream_t stream) const { signals_.barrier(0, stream); }

 private:
  RankSignals signals_;
};

}  // namespace weft::calibration::device
