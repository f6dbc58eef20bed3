// A schedule that cannot be measured, though the ranks are well.
#pragma once

#include <stdexcept>

namespace weft::calibration::device {

/// Thrown by all ranks at the same place, so that they can go on together with the next schedule.
class ScheduleError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace weft::calibration::device
