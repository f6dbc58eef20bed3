#include "tools/report/table.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace weft::tools::report {

namespace {

using Rows = std::vector<std::vector<std::string>>;

/// Characters on the screen: bytes of UTF-8 that do not continue a character.
std::size_t width(const std::string& cell) {
  return static_cast<std::size_t>(std::count_if(cell.begin(), cell.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

/// Empty cells and "-" count as numbers.
bool is_number(const std::string& cell) { return cell.find_first_of("0123456789") <= cell.find_first_not_of("+-."); }

struct Column {
  std::size_t width = 0;
  bool to_the_right = true;
};

std::vector<Column> layout(const Rows& rows) {
  std::vector<Column> columns(rows.front().size());
  for (std::size_t row = 0; row < rows.size(); ++row)
    for (std::size_t i = 0; i < columns.size(); ++i) {
      columns[i].width = std::max(columns[i].width, width(rows[row][i]));
      if (row > 0) columns[i].to_the_right &= is_number(rows[row][i]);
    }
  return columns;
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Table& table) {
  const std::vector<Column> columns = layout(table.rows_);
  for (const auto& row : table.rows_) {
    std::string line;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const std::string padding(columns[i].width - width(row[i]), ' ');
      line += (i > 0 ? "  " : "") + (columns[i].to_the_right ? padding + row[i] : row[i] + padding);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << '\n';
  }
  return out;
}

}  // namespace weft::tools::report
