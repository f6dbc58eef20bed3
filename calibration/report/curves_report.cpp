#include "calibration/report/curves_report.hpp"

#include <algorithm>
#include <iterator>
#include <optional>

#include "calibration/evidence/published_curves.hpp"
#include "models/machine/machine_files.hpp"

namespace weft::calibration::report {

using namespace weft::report;

namespace {

/// Mean and largest error of a curve, empty where there are none.
std::vector<Cell> summary_of(const std::vector<double>& errors) {
  const std::optional<evidence::CurveErrors> summary = evidence::summary_of(errors);
  if (!summary) return {"", ""};
  return {Number{100 * summary->mean, 1}, error(summary->largest)};
}

std::vector<Cell> cells_of(const evidence::PublishedCurve& curve) {
  return {std::string(name_of(curve.kind)), count(curve.gpus), curve.max_ctas == 0 ? Cell("") : count(curve.max_ctas)};
}

}  // namespace

Table curves_of(const Machine& machine, bool every_point) {
  const auto left_out = machine_folder().parent_path() / "published" / (machine.name + ".csv");
  Table points{{"collective", "GPUs", "max CTAs", "bytes", "published us", "predicted us", "error",
                droppable("first principles us", 2), droppable("error", 3), droppable("source", 1)},
               {}};
  Table curves{{"collective", "GPUs", "max CTAs", "from bytes", "to bytes", droppable("points", 1), "predicted: mean %",
                droppable("largest", 4), droppable("first principles: mean %", 3), droppable("largest", 3),
                droppable("source", 2)},
               {}};
  for (const evidence::PublishedCurve& curve : evidence::published_curves(machine, left_out)) {
    const std::string source = curve.in_profile() ? "in the profile" : "left out: " + curve.source;
    std::vector<double> predicted, library;
    for (const evidence::PublishedPoint& point : curve.points) {
      const evidence::CurvePrediction prediction = predict(machine, curve, point.bytes);
      predicted.push_back(prediction.time_us / point.time_us - 1);
      if (prediction.library_us) library.push_back(*prediction.library_us / point.time_us - 1);
      std::vector<Cell> row = cells_of(curve);
      row.insert(row.end(),
                 {count(point.bytes), Number{point.time_us, 1}, Number{prediction.time_us, 1}, error(predicted.back()),
                  prediction.library_us ? Cell(Number{*prediction.library_us, 1}) : Cell(""),
                  prediction.library_us ? Cell(error(library.back())) : Cell(""), source});
      points.rows.push_back(std::move(row));
    }
    std::vector<Cell> row = cells_of(curve);
    row.insert(row.end(),
               {count(curve.points.front().bytes), count(curve.points.back().bytes), count(curve.points.size())});
    for (const std::vector<double>& errors : {predicted, library})
      std::ranges::copy(summary_of(errors), std::back_inserter(row));
    row.emplace_back(source);
    curves.rows.push_back(std::move(row));
  }
  return every_point ? points : curves;
}

}  // namespace weft::calibration::report
