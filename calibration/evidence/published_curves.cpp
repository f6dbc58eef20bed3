#include "calibration/evidence/published_curves.hpp"

#include <boost/algorithm/string/classification.hpp>
#include <boost/algorithm/string/split.hpp>
#include <boost/lexical_cast/try_lexical_convert.hpp>
#include <cmath>
#include <fstream>

#include "models/base/json_object.hpp"
#include "models/base/text.hpp"
#include "models/cost/library_model.hpp"
#include "models/machine/machine_json.hpp"
#include "scenarios/study/prediction.hpp"
#include "sim/simulated_executor.hpp"

namespace weft::calibration::evidence {
namespace {

bool is_same_curve(const PublishedCurve& a, const PublishedCurve& b) {
  return a.kind == b.kind && a.gpus == b.gpus && a.max_ctas == b.max_ctas && a.source == b.source;
}

template <class Number>
Number number_from(const std::string& field, Number least, Number most, const InputError& otherwise) {
  Number number = 0;
  if (!boost::conversion::try_lexical_convert(field, number) || !(number >= least && number <= most)) throw otherwise;
  return number;
}

/// One line of the file: a curve of one point.
PublishedCurve curve_from(const std::string& line, const std::string& place) {
  std::vector<std::string> fields;
  boost::split(fields, line, boost::is_any_of(","));
  const InputError otherwise(place, "expected collective,gpus,max_ctas,bytes,time_us,source");
  if (fields.size() != 6 || fields[5].empty()) throw otherwise;
  return {.kind = from_name<CollectiveKind>(fields[0], place),
          .gpus = number_from(fields[1], 2, 1024, otherwise),
          .max_ctas = number_from(fields[2], 0, 1024, otherwise),
          .source = printable(fields[5]),
          .points = {{.bytes = number_from(fields[3], Bytes{1}, max_json_integer, otherwise),
                      .time_us = number_from(fields[4], shortest_collective_us, longest_collective_us, otherwise)}}};
}

}  // namespace

std::vector<PublishedCurve> published_curves(const Machine& machine, const std::filesystem::path& left_out) {
  std::vector<PublishedCurve> curves;
  for (const CollectiveCurve& known : machine.collectives) {
    PublishedCurve& curve = curves.emplace_back(PublishedCurve{known.kind, known.gpus, known.max_ctas, "", {}});
    for (const CurvePoint& point : known.points)
      if (point.alone_us > 0) curve.points.push_back({point.bytes, point.alone_us});
    if (curve.points.empty()) curves.pop_back();
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
  sim::SimulatedExecutor executor(sim::times_only);
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
