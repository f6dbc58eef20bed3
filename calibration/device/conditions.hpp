// Under which conditions something was measured: versions, clocks, power.
#pragma once

#include "calibration/hardware.hpp"

namespace weft::calibration::device {

/// NVIDIA's management library, where the driver brings it; readings are 0 where it does not answer. Never unloaded: a
/// rank process reads it until it ends.
class Sensors {
 public:
  explicit Sensors(int gpu);  ///< of CUDA's numbering

  std::string driver() const;
  double sm_clock_MHz() const;
  double max_sm_clock_MHz() const;
  double power_W() const;
  double power_limit_W() const;

 private:
  void* symbol(const char* name) const;

  void* library_ = nullptr;
  void* device_ = nullptr;  ///< nvmlDevice_t
};

Conditions read_conditions(int gpus, const Sensors& sensors);

}  // namespace weft::calibration::device
