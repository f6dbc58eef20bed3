#include "calibration/evidence/published_curves.hpp"

#include <boost/algorithm/string/classification.hpp>
#include <boost/algorithm/string/split.hpp>
#include <boost/lexical_cast/try_lexical_convert.hpp>
#include <cmath>
#include <fstream>

#include "models/cost/library_model.hpp"
#include "scenarios/study/prediction.hpp"
#include "sim/simulated_executor.hpp"

namespace weft::calibration::evidence {
namespace {

bool is_same_curve(const PublishedCurve& a, const PublishedCurve& b) {
  return a.kind == b.kind && a.gpus == b.gpus && a.max_ctas == b.max_ctas && a.source == b.source;
}

/// One line of the file: a curve of one point.
PublishedCurve curve_from(const std::string& line, const std::string& place) {
  std::vector<std::string> fields;
  boost::split(fields, line, boost::is_any_of(","));
  PublishedCurve curve;
  PublishedPoint point;
  if (fields.size() != 6 || !boost::conversion::try_lexical_convert(fields[1], curve.gpus) ||
      !boost::conversion::try_lexical_convert(fields[2], curve.max_ctas) ||
      !boost::conversion::try_lexical_convert(fields[3], point.bytes) ||
      !boost::conversion::try_lexical_convert(fields[4], point.time_us) || fields[5].empty() || point.time_us <= 0)
    throw InputError(place, "expected collective,gpus,max_ctas,bytes,time_us,source");
  curve.kind = from_name<CollectiveKind>(fields[0], place);
  curve.source = fields[5];
  curve.points = {point};
  return curve;
}

}  // namespace

std::vector<PublishedCurve> published_curves(const Machine& machine, const std::filesystem::path& left_out) {
  std::vector<PublishedCurve> curves;
  for (const CollectiveCurve& known : machine.collectives) {
    PublishedCurve& curve = curves.emplace_back(PublishedCurve{known.kind, known.gpus, known.max_ctas, "", {}});
    for (const CurvePoint& point : known.points) curve.points.push_back({point.bytes, point.alone_us});
  }
  std::ifstream file(left_out);
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (number == 1) continue;
    PublishedCurve curve = curve_from(line, left_out.string() + ", line " + std::to_string(number));
    if (!curves.empty() && is_same_curve(curves.back(), curve))
      curves.back().points.push_back(curve.points.front());
    else
      curves.push_back(std::move(curve));
  }
  return curves;
}

CurvePrediction predict(const Machine& machine, const PublishedCurve& curve, Bytes bytes) {
  const Bytes element = Bytes{2} * curve.gpus;  // collectives cut their buffer evenly
  const Bytes whole = std::max(element, bytes / element * element);
  scenarios::Case request;
  request.gpus = curve.gpus;
  request.workload = scenarios::CollectiveWorkload{curve.kind, whole};
  request.schedule.max_ctas = curve.max_ctas;
  CurvePrediction prediction;
  sim::SimulatedExecutor executor({.spans = false, .mechanisms = {}, .given_us = {}});
  prediction.time_us = scenarios::study::predict(request, machine, executor, {.serial = false}).time_us;
  if (!machine.collective_protocols.empty())
    prediction.library_us =
        library_time(machine, curve.kind, curve.gpus, static_cast<double>(bytes), curve.max_ctas).time_us();
  return prediction;
}

std::optional<CurveErrors> summary_of(const std::vector<double>& errors) {
  if (errors.empty()) return std::nullopt;
  CurveErrors summary;
  for (const double error : errors) {
    summary.mean += std::abs(error);
    if (std::abs(error) > std::abs(summary.largest)) summary.largest = error;
  }
  summary.mean /= static_cast<double>(errors.size());
  return summary;
}

}  // namespace weft::calibration::evidence
