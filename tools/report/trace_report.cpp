#include "tools/report/trace_report.hpp"

#include <nlohmann/json.hpp>

#include "models/execution/trace_json.hpp"

namespace weft::tools::report {

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
  return {.title = "", .sections = {{"", table, {}}}, .notes = {}, .document = nlohmann::ordered_json(to_json(trace))};
}

}  // namespace weft::tools::report
