#include "models/report/writers.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "models/base/input_error.hpp"
#include "models/base/json_file.hpp"
#include "models/base/text.hpp"

namespace weft::report {
namespace {

using nlohmann::ordered_json;

std::string text_of(const Number& number, bool has_unit) {
  const std::string sign = number.has_sign && number.value >= 0 ? "+" : "";
  return sign + fixed(number.value, number.decimals) + (has_unit ? std::string(number.unit) : "");
}

std::string text_of(const Cell& cell, bool has_unit) {
  if (const auto* words = std::get_if<std::string>(&cell)) return *words;
  if (const auto* number = std::get_if<Number>(&cell)) return text_of(*number, has_unit);
  const auto& [low, high, decimals] = std::get<Interval>(cell);
  return fixed(low, decimals) + " - " + fixed(high, decimals);
}

// --- JSON ------------------------------------------------------------------------------------------------------

ordered_json json_of(const Section& section) {
  ordered_json columns = ordered_json::array(), rows = ordered_json::array();
  for (const Column& column : section.table.columns) columns.push_back(column.name);
  for (const auto& cells : section.table.rows) {
    ordered_json& row = rows.emplace_back(ordered_json::array());
    for (const Cell& cell : cells) {
      const auto* number = std::get_if<Number>(&cell);
      row.push_back(number != nullptr ? ordered_json(number->value) : ordered_json(text_of(cell, true)));
    }
  }
  return {{"heading", section.heading}, {"columns", columns}, {"rows", rows}, {"notes", section.notes}};
}

std::string to_json(const Report& report, const Style&) {
  if (const ordered_json* json = report.document.json()) return weft::to_text(*json);
  ordered_json sections = ordered_json::array();
  for (const Section& section : report.sections) sections.push_back(json_of(section));
  return weft::to_text({{"title", report.title}, {"sections", sections}, {"notes", report.notes}});
}

// --- CSV -------------------------------------------------------------------------------------------------------

/// As RFC 4180 has it.
std::string csv_field(const std::string& words) {
  const std::string text = printable(words);
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

std::string csv_of(const Table& table) {
  std::string text, line;
  for (const Column& column : table.columns) line += (line.empty() ? "" : ",") + csv_field(column.name);
  text += line + '\n';
  for (const auto& cells : table.rows) {
    for (std::size_t i = 0; i < cells.size(); ++i) text += (i > 0 ? "," : "") + csv_field(text_of(cells[i], false));
    text += '\n';
  }
  return text;
}

/// The report's rows, or its tables with an empty line between two. Units are left out of cells; columns have theirs in
/// the name.
std::string to_csv(const Report& report, const Style&) {
  if (!report.rows.columns.empty()) return csv_of(report.rows);
  std::string text;
  for (const Section& section : report.sections)
    if (!section.table.columns.empty()) text += (text.empty() ? "" : "\n") + csv_of(section.table);
  return text;
}

// --- Markdown --------------------------------------------------------------------------------------------------

std::string markdown_row(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (const std::string& cell : cells) {
    line += ' ';
    for (const char c : printable(cell)) line += (c == '|' ? "\\" : "") + std::string(1, c);
    line += " |";
  }
  return line + '\n';
}

std::string markdown_of(const Table& table) {
  std::vector<std::string> names, alignments;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    names.push_back(table.columns[i].name);
    alignments.push_back(is_numeric(table, i) ? "--:" : ":--");
  }
  std::string text = markdown_row(names) + markdown_row(alignments);
  for (const auto& row : table.rows) {
    std::vector<std::string> cells;
    for (const Cell& cell : row) cells.push_back(text_of(cell, true));
    text += markdown_row(cells);
  }
  return text;
}

std::string to_markdown(const Report& report, const Style&) {
  std::string text;
  const auto add = [&](const std::string& block) { text += (text.empty() ? "" : "\n") + block; };
  if (!report.title.empty()) add("# " + printable(report.title) + '\n');
  for (const auto& [heading, table, notes] : report.sections) {
    if (!heading.empty()) add("## " + printable(heading) + '\n');
    if (!table.columns.empty()) add(markdown_of(table));
    for (const std::string& note : notes) add(printable(note) + '\n');
  }
  for (const std::string& note : report.notes) add(printable(note) + '\n');
  return text;
}

}  // namespace

Document::Document(ordered_json json) : json_(std::make_shared<const ordered_json>(std::move(json))) {}

std::string text_of(const Cell& cell) { return printable(text_of(cell, true)); }

bool is_numeric(const Table& table, std::size_t column) {
  return std::all_of(table.rows.begin(), table.rows.end(), [column](const std::vector<Cell>& row) {
    const auto* words = std::get_if<std::string>(&row[column]);
    return words == nullptr || words->empty() || *words == "-";
  });
}

std::span<const Format> formats() {
  static constexpr Format all[] = {{"text", to_text}, {"json", to_json}, {"csv", to_csv}, {"markdown", to_markdown}};
  return all;
}

std::string written(const Report& report, std::string_view format, const Style& style) {
  std::string known;
  for (const Format& one : formats()) {
    if (one.name == format) return one.write(report, style);
    known += (known.empty() ? "" : ", ") + std::string(one.name);
  }
  throw InputError("format", "expected one of " + known + ", got \"" + shown_name(std::string(format)) + "\"");
}

}  // namespace weft::report
