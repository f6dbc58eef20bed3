// Windows of launches that follow one another without a pause: the host stays a few windows ahead of the GPU.
#pragma once

#include <cstdint>
#include <vector>

#include "calibration/device/launcher.hpp"
#include "calibration/device/sm_clocks.hpp"
#include "calibration/device/turn_meeting.hpp"

namespace weft::calibration::device {

class Windows {
 public:
  /// `queued`: windows that the GPU is given ahead. Forgets the readings that `clocks` holds. With a meeting all ranks
  /// begin each window together, and the time that they wait is of none.
  Windows(std::size_t queued, SmClocks& clocks, const TurnMeeting* meeting)
      : queued_(queued), clocks_(clocks), meeting_(meeting) {
    clocks_.restart();
  }

  /// Enqueues `launches` iterations behind all windows so far, of whatever program, and waits until no more than
  /// `queued` windows are ahead: after the call all before those have ended.
  void add(const Program& program, const Launcher& launcher, int launches);
  /// Reads the clock behind all windows so far, or behind what this program enqueued; returns the reading's number.
  int read_clock();
  int read_clock(const Program& program) { return clocks_.read(program.origin()); }
  /// Waits until all windows have ended.
  void finish();

  /// Of a window that has ended: one iteration on this rank, and when this rank saw its end (steady_now_ns).
  double iteration_us(std::size_t window) const;
  std::int64_t seen_end_ns(std::size_t window) const { return windows_[window].seen_end_ns; }
  std::size_t size() const { return windows_.size(); }
  std::size_t ended() const { return ended_; }
  const SmClocks& clocks() const { return clocks_; }

 private:
  struct Window {
    const Program* program = nullptr;
    int launches = 0;
    Event start, end;
    std::int64_t seen_end_ns = 0;
  };
  void wait_for(std::size_t windows);

  std::size_t queued_, ended_ = 0;
  SmClocks& clocks_;
  const TurnMeeting* meeting_;
  std::vector<Window> windows_;
};

}  // namespace weft::calibration::device
