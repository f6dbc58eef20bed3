#include "models/execution/trace_comparison.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

namespace weft {

namespace {

struct Interval {
  std::string kind;
  double start_us = 0, end_us = 0;
  double duration_us() const { return end_us - start_us; }
};

using Key = std::pair<std::string, int>;  // operation, GPU
using Intervals = std::map<Key, Interval>;

Intervals intervals_of(const Trace& trace) {
  Intervals intervals;
  for (const Span& span : trace.spans) {
    const auto [place, is_new] =
        intervals.try_emplace({span.operation, span.gpu}, Interval{span.kind, span.start_us, span.end_us});
    if (is_new) continue;
    place->second.start_us = std::min(place->second.start_us, span.start_us);
    place->second.end_us = std::max(place->second.end_us, span.end_us);
  }
  return intervals;
}

std::set<int> gpus_of(const Trace& trace) {
  std::set<int> gpus;
  for (const Span& span : trace.spans) gpus.insert(span.gpu);
  return gpus;
}

Intervals on_each_gpu(const Intervals& of_gpu_0, const std::set<int>& gpus) {
  Intervals intervals;
  for (const auto& [key, interval] : of_gpu_0)
    for (const int gpu : gpus) intervals[{key.first, gpu}] = interval;
  return intervals;
}

double size_of_error(const TimePair& pair) { return std::abs(pair.error().value_or(0)); }

void add(OperationComparison& row, int gpu, const Interval& predicted, const Interval& measured) {
  const TimePair duration{predicted.duration_us(), measured.duration_us()};
  if (row.gpus == 0 || size_of_error(duration) > size_of_error(row.worst_duration)) {
    row.worst_gpu = gpu;
    row.worst_duration = duration;
  }
  const auto include = [count = ++row.gpus](double& mean, double value) { mean += (value - mean) / count; };
  include(row.start.predicted_us, predicted.start_us);
  include(row.start.measured_us, measured.start_us);
  include(row.duration.predicted_us, duration.predicted_us);
  include(row.duration.measured_us, duration.measured_us);
}

}  // namespace

std::optional<double> TimePair::error() const {
  if (measured_us == 0) return std::nullopt;
  return predicted_us / measured_us - 1;
}

TraceComparison compare(const Trace& predicted, const Trace& measured) {
  TraceComparison comparison;
  comparison.total = {predicted.time_us, measured.time_us};
  const std::set<int> measured_gpus = gpus_of(measured);
  comparison.merged_ranks = gpus_of(predicted) == std::set{0} && measured_gpus.size() > 1;

  Intervals predicted_intervals = intervals_of(predicted);
  if (comparison.merged_ranks) predicted_intervals = on_each_gpu(predicted_intervals, measured_gpus);
  Intervals measured_intervals = intervals_of(measured);

  std::map<std::string, OperationComparison> rows;
  for (const auto& [key, interval] : predicted_intervals) {
    const auto found = measured_intervals.find(key);
    if (found == measured_intervals.end()) {
      comparison.unmatched.push_back({"predicted", key.first, key.second});
      continue;
    }
    OperationComparison& row = rows[key.first];
    row.operation = key.first;
    row.kind = interval.kind;
    add(row, key.second, interval, found->second);
    measured_intervals.erase(found);
  }
  for (const auto& [key, interval] : measured_intervals)
    comparison.unmatched.push_back({"measured", key.first, key.second});

  for (auto& [name, row] : rows) comparison.operations.push_back(std::move(row));
  std::stable_sort(comparison.operations.begin(), comparison.operations.end(),
                   [](const auto& a, const auto& b) { return a.start.predicted_us < b.start.predicted_us; });
  return comparison;
}

}  // namespace weft
