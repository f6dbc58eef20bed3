// Power while something runs, and what holds the clock back: a thread that asks the driver every few milliseconds, so
// that the thread that launches never waits for an answer.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "calibration/device/conditions.hpp"

namespace weft::calibration::device {

class PowerLog {
 public:
  explicit PowerLog(const Sensors& sensors);
  ~PowerLog();
  PowerLog(const PowerLog&) = delete;
  PowerLog& operator=(const PowerLog&) = delete;

  /// Ends the log. Both times of `steady_now_ns`. Mean power between them, in watts: what the energy counter gained
  /// from its first to its last change there, over that time; where it changed too seldom, the mean of the sensor's
  /// values; 0 where there are none.
  double mean_W(std::int64_t from_ns, std::int64_t to_ns);
  /// Every reason that the driver gave between them, as Sensors::clock_limits has them.
  std::uint64_t clock_limits(std::int64_t from_ns, std::int64_t to_ns);

 private:
  struct Sample {
    std::int64_t time_ns = 0;
    double energy_J = 0, power_W = 0;
    std::uint64_t clock_limits = 0;
  };
  void run();
  std::vector<Sample> between(std::int64_t from_ns, std::int64_t to_ns);

  const Sensors& sensors_;
  std::atomic<bool> ends_{false};
  std::vector<Sample> samples_;
  std::thread thread_;
};

}  // namespace weft::calibration::device
