#include <nlohmann/json.hpp>

#include "models/execution/trace_comparison.hpp"

namespace weft {
namespace {

using nlohmann::ordered_json;

ordered_json as_json(const std::optional<double>& error) { return error ? ordered_json(*error) : ordered_json(); }

ordered_json as_json(const TimePair& pair) {
  return {{"predicted_us", pair.predicted_us}, {"measured_us", pair.measured_us}, {"error", as_json(pair.error())}};
}

}  // namespace

ordered_json to_json(const TraceComparison& comparison) {
  ordered_json operations = ordered_json::array(), unmatched = ordered_json::array();
  for (const OperationComparison& row : comparison.operations)
    operations.push_back({{"operation", row.operation},
                          {"kind", row.kind},
                          {"gpus", row.gpus},
                          {"duration", as_json(row.duration)},
                          {"start", {{"predicted_us", row.start.predicted_us}, {"measured_us", row.start.measured_us}}},
                          {"worst_gpu", row.worst_gpu},
                          {"worst_duration", as_json(row.worst_duration)}});
  for (const UnmatchedSpan& span : comparison.unmatched)
    unmatched.push_back({{"trace", span.trace}, {"operation", span.operation}, {"gpu", span.gpu}});
  return {{"iteration", as_json(comparison.total)},
          {"operations", std::move(operations)},
          {"unmatched", std::move(unmatched)},
          {"merged_ranks", comparison.merged_ranks}};
}

}  // namespace weft
