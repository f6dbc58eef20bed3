// Published times of collectives beside what weft says of them: those that a profile holds as its curves, and those
// that were left out of it, in calibration/published/NAME.csv.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "models/machine/machine.hpp"

namespace weft::calibration::evidence {

struct PublishedPoint {
  Bytes bytes = 0;  ///< as nccl-tests counts them
  double time_us = 0;
};

struct PublishedCurve {
  CollectiveKind kind = CollectiveKind::all_reduce;
  int gpus = 0, max_ctas = 0;
  std::string source;  ///< empty: the profile itself holds it
  std::vector<PublishedPoint> points;

  bool in_profile() const { return source.empty(); }
};

/// The profile's curves without the points that say nothing of a graph's time, then those of the file where it exists:
/// columns collective, gpus, max_ctas, bytes, time_us, source; neighbouring lines that differ in size and time alone
/// are one curve. Throws InputError, file and line.
std::vector<PublishedCurve> published_curves(const Machine& machine, const std::filesystem::path& left_out);

struct CurvePrediction {
  double time_us = 0;                ///< as `weft predict` answers
  std::optional<double> library_us;  ///< library_time(), where the profile has protocols
};

CurvePrediction predict(const Machine& machine, const PublishedCurve& curve, Bytes bytes);

/// Over the points of a curve.
struct CurveErrors {
  double mean = 0;     ///< of absolute errors
  double largest = 0;  ///< by its absolute value; with its sign
};
/// `errors`: predicted / published - 1 of each point; none of no point.
std::optional<CurveErrors> summary_of(const std::vector<double>& errors);

}  // namespace weft::calibration::evidence
