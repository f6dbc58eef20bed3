#include "scenarios/report/token_split_report.hpp"

#include <nlohmann/json.hpp>

#include "models/base/text.hpp"

namespace weft::scenarios::report {

using namespace weft::report;

namespace {

Table table_of(const std::vector<study::TableRow>& rows, bool fused_norm) {
  Table table{{"tokens", "split 1", droppable("split 2", 1)}, {}};
  if (fused_norm)
    table.columns.insert(table.columns.end(), {"attention CTAs", "MLP CTAs"});
  else
    table.columns.emplace_back("max CTAs");
  table.columns.insert(table.columns.end(), {droppable("us", 3), droppable("serial us", 2), droppable("speedup", 4)});
  for (const study::TableRow& row : rows) {
    const auto& split = std::get<scenarios::TokenSplit>(row.choice.family);
    std::vector<Cell>& cells = table.rows.emplace_back();
    cells = {count(row.tokens), count(*split.first), count(row.tokens - *split.first)};
    if (fused_norm)
      cells.insert(cells.end(), {count(split.comm_ctas), count(split.mlp_comm_ctas.value())});
    else
      cells.push_back(row.choice.max_ctas == 0 ? Cell("default") : count(row.choice.max_ctas));
    cells.insert(cells.end(), {Number{row.time_us, 1}, Number{row.serial_us, 1}, ratio(row.speedup())});
  }
  return table;
}

std::vector<std::string> notes_on(const std::vector<study::TableRow>& rows) {
  std::vector<std::string> losing;
  for (const study::TableRow& row : rows)
    if (row.speedup() <= 1) losing.push_back(std::to_string(row.tokens));
  if (losing.empty()) return {};
  return {"Do not split " + joined(losing) + " tokens: serial takes less than the best split."};
}

}  // namespace

Report token_split_report(const std::vector<study::TableRow>& rows, const study::TableQuestion& question,
                          const std::string& model, const Machine& machine) {
  const std::string heading = "One layer, " + std::to_string(question.gpus) + " GPUs, " + machine.name;
  return {.sections = {{heading, table_of(rows, question.fused_norm), notes_on(rows)}},
          .document = to_json(rows, question, model, machine)};
}

}  // namespace weft::scenarios::report
