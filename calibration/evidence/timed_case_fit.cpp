#include "calibration/evidence/timed_case_fit.hpp"

#include <cmath>

#include "scenarios/study/prediction.hpp"
#include "sim/simulated_executor.hpp"

namespace weft::calibration::evidence {

TimedCase timed(const Load& load, const Machine& machine) {
  TimedCase one{load.request, load.time_us};
  one.request.condition.fixed_clock_MHz = load.clock_share * machine.gpu.max_clock_MHz;
  return one;
}

std::vector<fitting::FittedNumber> fit_to_times(Machine& machine, std::span<const fitting::Number> numbers,
                                                const std::vector<TimedCase>& cases) {
  sim::SimulatedExecutor executor(sim::times_only);
  return fitting::fit_numbers(
      machine, numbers,
      [&] {
        std::vector<double> logarithms;
        for (const TimedCase& one : cases) {
          const Trace trace = scenarios::study::predict(one.request, machine, executor, {.serial = false}).trace;
          logarithms.push_back(std::log(trace.time_us / one.time_us));
        }
        return logarithms;
      },
      fitting::difference_of_simulations);
}

}  // namespace weft::calibration::evidence
