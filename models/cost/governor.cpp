#include "models/cost/governor.hpp"

#include <algorithm>

#include "models/execution/timing_protocol.hpp"

namespace weft {
namespace {

/// Integral of the ramp from 0 to `time_ms`: the governor's slowdown after `delay` grows linearly to its end.
double slowed_ms(const Power& power, double time_ms) {
  const double since = std::max(0.0, time_ms - power.governor_delay_ms);
  const double ramp = power.governor_ramp_ms;
  return since < ramp ? since * since / (2 * ramp) : since - ramp / 2;
}

}  // namespace

double switching_energy_factor(const Power& power, double clock_share) {
  const double voltage = power.voltage_floor + (1 - power.voltage_floor) * clock_share;
  return voltage * voltage;
}

double governor_memory_us(const Power& power) { return (power.governor_delay_ms + power.governor_ramp_ms / 2) * 1e3; }

double throttled_share(const Power& power, double iteration_us) {
  const double one_run_ms = launches_for(run_ms * 1e3, iteration_us) * iteration_us * 1e-3;
  const double begin_ms = one_run_ms * (timed_runs / 2);  // of the middle run
  return (slowed_ms(power, begin_ms + one_run_ms) - slowed_ms(power, begin_ms)) / one_run_ms;
}

}  // namespace weft
