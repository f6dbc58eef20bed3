// How likely a schedule is to be faster than serial, by the errors of predicted speedups where both were measured
// (tools/fit_odds, docs/odds.md). Both were measured in one case, so that what errs alike for all of its schedules is
// gone from their ratio.
//
//   ln(measured speedup) = x + shifts + slope x + scale (1 + growth |x|) z        x = ln(predicted speedup)
//
// Shifts are those of a class of serial times, of the family, of the op and of the number of GPUs; slope and growth are
// those of the class, the scale is that of the family in the class, and z has the distribution of what was left in the
// class, given by quantiles.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/machine/machine.hpp"
#include "scenarios/search.hpp"

namespace weft::scenarios::study {

/// Serial is predicted to take from so long on, up to the next class.
struct RatioClass {
  double from_us = 0;
  double shift = 0, slope = 0;
  double growth = 0;              ///< of the scale with |x|
  std::vector<double> quantiles;  ///< equally likely values of z, ascending
  bool operator==(const RatioClass&) const = default;
};

struct RatioScale {
  std::string family;  ///< "any": of all families together, for those that have none of their own in the class
  double from_us = 0;  ///< of the class
  double scale = 0;
  int cases = 0;
  bool operator==(const RatioScale&) const = default;
};

/// Of a family or an op; those that were never measured have none.
struct NamedShift {
  std::string name;
  double shift = 0;
  int cases = 0;
  bool operator==(const NamedShift&) const = default;
};

struct GpusShift {
  int from_gpus = 0;  ///< up to those of the next
  double shift = 0;
  int cases = 0;
  bool operator==(const GpusShift&) const = default;
};

/// A schedule's predicted speedup over serial, which is predicted to take `serial_us`.
struct PredictedRatio {
  std::string_view family, op;
  int gpus = 0;
  double speedup = 1;
  double serial_us = 0;
  bool is_measured_machine = true;
};

struct RatioErrors {
  std::vector<RatioClass> classes;  ///< ascending, the first from 0
  std::vector<RatioScale> scales;   ///< "any" has one for each class
  std::vector<NamedShift> families, ops;
  std::vector<GpusShift> gpus;  ///< ascending
  /// Of the scale, for machines and for families that were never measured.
  double widening = 1;

  Odds of(const PredictedRatio& ratio) const;
  /// The share of serial's time that at least is saved in all but so large a share of such cases: Odds::worst_gain is
  /// that of 0.05.
  double gain_at(double share, const PredictedRatio& ratio) const;

 private:
  /// ln(measured speedup) = expected + scale z.
  struct Distribution {
    double expected = 0, scale = 0;
    const std::vector<double>& z;
  };
  Distribution distribution(const PredictedRatio& ratio) const;
};

/// Those that weft ships.
const RatioErrors& shipped_ratio_errors();

/// Measured: the profile has error bands.
bool is_measured(const Machine& machine);

PredictedRatio predicted_ratio(const Case& request, double speedup, double serial_us, bool is_measured_machine);

/// By the shipped errors.
Judge judge_of(const Machine& machine);

}  // namespace weft::scenarios::study
