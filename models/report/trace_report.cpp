#include "models/report/trace_report.hpp"

#include <nlohmann/json.hpp>

#include "models/execution/trace_json.hpp"

namespace weft::report {
namespace {

Cell cell_of(const std::optional<double>& error) { return error ? Cell(report::error(*error)) : Cell("-"); }
Number us(double time_us) { return {time_us, 1}; }

}  // namespace

Report trace_report(const Trace& trace) {
  const bool has_limits = trace.source == "predicted";
  Table table{{"operation", droppable("stream", 4), droppable("start us", 3), droppable("end us", 2), "us"}, {}};
  if (has_limits) table.columns.emplace_back("limit", 5);
  table.columns.emplace_back("detail", 1);
  for (const Span& span : trace.spans) {
    if (span.gpu != 0) continue;
    std::vector<Cell>& row = table.rows.emplace_back();
    row = {span.operation, span.stream, Number{span.start_us, 1}, Number{span.end_us, 1},
           Number{span.end_us - span.start_us, 1}};
    if (has_limits) row.emplace_back(std::string(name_of(span.limit)));
    row.emplace_back(span.detail);
  }
  return {.sections = {{.table = table}}, .document = nlohmann::ordered_json(to_json(trace))};
}

Report comparison_report(const TraceComparison& comparison, const RunNames& names) {
  const auto& [first, second, difference] = names;
  Section section{"",
                  {{"operation", droppable("kind", 3), droppable("GPUs", 4), first + " us", second + " us", difference,
                    droppable("worst GPU", 2), droppable("its " + difference, 2), droppable(first + " start us", 1),
                    droppable(second + " start us", 1)},
                   {}},
                  {}};
  for (const OperationComparison& row : comparison.operations)
    section.table.rows.push_back({row.operation, row.kind, count(row.gpus), us(row.duration.predicted_us),
                                  us(row.duration.measured_us), cell_of(row.duration.error()), count(row.worst_gpu),
                                  cell_of(row.worst_duration.error()), us(row.start.predicted_us),
                                  us(row.start.measured_us)});
  const TimePair& total = comparison.total;
  section.table.rows.push_back(
      {"iteration", "", "", us(total.predicted_us), us(total.measured_us), cell_of(total.error()), "", "", "", ""});
  if (comparison.merged_ranks)
    section.notes.emplace_back("The " + first + " run has its ranks merged: GPU 0 stands for each GPU.");
  for (const UnmatchedSpan& span : comparison.unmatched)
    section.notes.push_back("Only in the " + (span.trace == "predicted" ? first : second) + " run: " + span.operation +
                            " on GPU " + std::to_string(span.gpu));
  return {.sections = {section}, .document = to_json(comparison)};
}

}  // namespace weft::report
