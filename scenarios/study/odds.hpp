// How likely a schedule is to be faster than serial, by the errors of predicted speedups where both were measured
// (tools/fit_odds, docs/odds.md). Both were measured in one case, so that what errs alike for all of its schedules is
// gone from their ratio.
//
//   ln(measured speedup) = x + shift + slope x + scale z        x = ln(predicted speedup)
//
// Shift, slope and scale are those of the family and of a class of serial times; z has the distribution of what was
// left in that class, given by quantiles.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/machine/machine.hpp"
#include "scenarios/search.hpp"

namespace weft::scenarios::study {

struct RatioStratum {
  std::string family;  ///< "any": of all families together, for those that have none of their own
  double from_us = 0;  ///< predicted time of serial, up to that of the next class
  double shift = 0, slope = 0, scale = 0;
  int cases = 0;
  bool operator==(const RatioStratum&) const = default;
};

/// Equally likely values of z, ascending; each class has its own.
struct Residuals {
  double from_us = 0;
  std::vector<double> quantiles;
  bool operator==(const Residuals&) const = default;
};

struct RatioErrors {
  std::vector<RatioStratum> strata;  ///< "any" has one for each class
  std::vector<Residuals> residuals;  ///< by ascending from_us, the first from 0
  /// Of the scale, for machines and for families that were never measured.
  double widening = 1;

  /// `speedup` is the predicted one over serial, which is predicted to take `serial_us`.
  Odds of(std::string_view family, double speedup, double serial_us, bool is_measured_machine) const;
  /// The share of serial's time that at least is saved in all but so large a share of such cases: Odds::worst_gain is
  /// that of 0.05.
  double gain_at(double share, std::string_view family, double speedup, double serial_us,
                 bool is_measured_machine) const;

 private:
  /// ln(measured speedup) = expected + scale z.
  struct Distribution {
    double expected = 0, scale = 0;
    const std::vector<double>& z;
  };
  Distribution distribution(std::string_view family, double speedup, double serial_us, bool is_measured_machine) const;
};

/// Those that weft ships.
const RatioErrors& shipped_ratio_errors();

/// Measured: the profile has error bands.
bool is_measured(const Machine& machine);

/// By the shipped errors.
Judge judge_of(const Machine& machine);

}  // namespace weft::scenarios::study
