// Least squares over numbers of a machine profile.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "calibration/fitting/least_squares.hpp"
#include "models/machine/machine.hpp"

namespace weft::calibration::fitting {

struct Number {
  const char* section;
  const char* key;
  double low, high;  ///< what is physically possible
};

struct FittedNumber {
  std::string section, key;  ///< in the machine profile
  double value = 0;
  double half_width = 0;  ///< of the 95 % confidence interval
  bool is_at_bound = false;
};

inline constexpr double usual_error = 0.03;  ///< of a GEMM's time: residuals well above it count as outliers

/// Sets `numbers` of `machine` to what makes the residuals, which refer to it, smallest. Returns those that they
/// determine; the others keep their values, but for what is physically possible. `difference`: as fit_least_squares().
std::vector<FittedNumber> fit_numbers(Machine& machine, std::span<const Number> numbers,
                                      const std::function<std::vector<double>()>& residuals,
                                      double difference = difference_of_formulas);

}  // namespace weft::calibration::fitting
