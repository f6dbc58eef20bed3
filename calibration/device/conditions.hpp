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
  double application_clock_MHz() const;  ///< of the SMs, as the user or the driver set it
  double power_W() const;                ///< of this moment where the driver tells, else its mean of the last second
  double energy_J() const;               ///< since the driver was loaded
  /// Why the clock is below its highest, one bit a reason; idle and what the user set are left out.
  std::uint64_t clock_limits() const;
  double power_limit_W() const;
  std::string ecc() const;  ///< "on", "off", or empty where the driver does not tell
  std::string mig() const;  ///< the same
  int processes() const;    ///< with work on this GPU, this one included

 private:
  double clock_MHz(const char* name) const;  ///< of the SMs, by the function of that name
  void* symbol(const char* name) const;
  std::string mode(const char* name) const;
  std::uint64_t field(unsigned id) const;  ///< 0 where the driver does not know it

  void* library_ = nullptr;
  void* device_ = nullptr;  ///< nvmlDevice_t
};

/// The names of the bits of `clock_limits`.
std::vector<std::string> names_of_clock_limits(std::uint64_t limits);

Conditions read_conditions(int gpus, const Sensors& sensors);

}  // namespace weft::calibration::device
