// Robust nonlinear least squares with bounds.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace weft::calibration::fitting {

struct Parameter {
  double start = 0, low = 0, high = 0;
};

struct FittedParameter {
  double value = 0;
  double half_width = 0;      ///< of the 95 % confidence interval, from the Jacobian at the solution; 0 at a bound
  bool is_determined = true;  ///< false: no residual depends on it, `value` is the start
  bool is_at_bound = false;
};

/// 2 s^2 (sqrt(1 + (r/s)^2) - 1): r^2 where `residual` is small against `scale`, its absolute value where it is large.
double soft_square(double residual, double scale);

using Residuals = std::function<std::vector<double>(const std::vector<double>& values)>;

/// Of the Jacobian, relative to a parameter's size: of residuals that are formulas, and of simulated times, which are
/// whole picoseconds for every tile.
inline constexpr double difference_of_formulas = 1e-6, difference_of_simulations = 1e-3;

/// Minimises the sum of soft_square() over the residuals, so that an outlier pulls no more than a few good points.
/// Levenberg-Marquardt on reweighted residuals with a numeric Jacobian; steps end at the bounds. There must be more
/// residuals than parameters, always as many. Throws ExecutionError where a residual is not finite at the start.
std::vector<FittedParameter> fit_least_squares(const Residuals& residuals, const std::vector<Parameter>& parameters,
                                               double scale, double difference = difference_of_formulas);

}  // namespace weft::calibration::fitting
