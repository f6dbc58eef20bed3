#include "calibration/device/turn_meeting.hpp"

namespace weft::calibration::device {
namespace {

Schedule one_barrier(int ranks) {
  Schedule schedule;
  schedule.name = "between turns";
  schedule.gpus = ranks;
  schedule.streams.push_back({.name = "meeting"});
  schedule.operations.push_back({.name = "meeting between turns", .stream = 0, .after = {}, .work = Barrier{}});
  return schedule;
}

}  // namespace

TurnMeeting::TurnMeeting(int rank, int ranks, SymmetricMemory& symmetric, const WaitNote& note, double limit_s)
    : signals_(one_barrier(ranks), rank, symmetric, note, limit_s, between_turns) {
  signals_.clear(nullptr);
  WEFT_CHECK(cudaStreamSynchronize(nullptr));
}

}  // namespace weft::calibration::device
