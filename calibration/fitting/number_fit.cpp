#include "calibration/fitting/number_fit.hpp"

#include <algorithm>

#include "calibration/fitting/least_squares.hpp"
#include "models/machine/machine_numbers.hpp"

namespace weft::calibration::fitting {

std::vector<FittedNumber> fit_numbers(Machine& machine, std::span<const Number> numbers,
                                      const std::function<std::vector<double>()>& residuals, double difference) {
  std::vector<double*> values;
  std::vector<Parameter> parameters;
  for (const auto& [section, key, low, high] : numbers) {
    values.push_back(&number_of(machine, section, key));
    parameters.push_back({std::clamp(*values.back(), low, high), low, high});
  }
  const auto set = [&](std::size_t i, double value) { *values[i] = value; };
  const auto set_and_compare = [&](const std::vector<double>& tried) {
    for (std::size_t i = 0; i < tried.size(); ++i) set(i, tried[i]);
    return residuals();
  };
  const std::vector<FittedParameter> estimates =
      fit_least_squares(set_and_compare, parameters, usual_error, difference);
  std::vector<FittedNumber> found;
  for (std::size_t i = 0; i < estimates.size(); ++i) {
    const auto& [value, half_width, is_determined, is_at_bound] = estimates[i];
    set(i, value);
    if (is_determined) found.push_back({numbers[i].section, numbers[i].key, value, half_width, is_at_bound});
  }
  return found;
}

}  // namespace weft::calibration::fitting
