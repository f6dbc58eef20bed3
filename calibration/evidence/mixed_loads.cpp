#include "calibration/evidence/mixed_loads.hpp"

#include <algorithm>

#include "calibration/fitting/gemm_fit.hpp"
#include "models/base/statistics.hpp"
#include "scenarios/families/build.hpp"
#include "scenarios/study/prediction.hpp"
#include "sim/energy.hpp"
#include "sim/operation_cost.hpp"
#include "sim/simulated_executor.hpp"

namespace weft::calibration::evidence {
namespace {

constexpr double most_tensor_time = 0.7;  ///< of an iteration, beyond which the rest is too short to tell its clock

std::optional<MedianOfLoads> median_of(const std::vector<double>& values) {
  if (values.size() < fitting::enough_to_tell) return std::nullopt;
  return MedianOfLoads{quantile(values, 0.5), quantile(values, 0.1), quantile(values, 0.9), values.size()};
}

double operations_uJ(const Machine& machine, const Load& load) {
  const Schedule schedule = scenarios::families::build(load.request, machine);
  const sim::IterationEnergy energy(schedule, machine, sim::operation_costs(schedule, machine));
  return energy.total_uJ(std::min(load.clock_share, machine.power.tensor_clock));
}

}  // namespace

std::optional<MedianOfLoads> mixed_energy(const Machine& machine, const std::vector<Load>& loads) {
  Machine apart = machine;
  apart.power.mixed_energy = 1;
  std::vector<double> ratios;
  for (const Load& load : loads)
    if (fitting::is_held(load.clock_share, machine.power))
      ratios.push_back((load.power_W - machine.power.idle_W) * load.time_us / operations_uJ(apart, load));
  return median_of(ratios);
}

std::optional<MedianOfLoads> clock_between(const Machine& machine, const std::vector<Load>& loads) {
  Machine goes_up = machine;
  goes_up.power.clock_between = 1;
  sim::SimulatedExecutor executor(sim::times_only);
  const double tensor_clock = machine.power.tensor_clock;
  std::vector<double> clocks;
  for (const Load& load : loads) {
    if (tensor_clock == 1 || !fitting::is_unlimited(load.power_W, machine.power)) continue;
    const Trace trace = scenarios::study::predict(load.request, goes_up, executor, {.serial = false}).trace;
    const double tensor_time = (1 - trace.clock_MHz / machine.gpu.max_clock_MHz) / (1 - tensor_clock);
    if (tensor_time <= most_tensor_time)
      clocks.push_back((load.clock_share - tensor_time * tensor_clock) / (1 - tensor_time));
  }
  std::optional<MedianOfLoads> found = median_of(clocks);
  if (found) found->value = std::clamp(found->value, tensor_clock, 1.0);
  return found;
}

}  // namespace weft::calibration::evidence
