// What a command found, as a value. Writers turn it into text for a terminal, JSON, CSV or Markdown (writers.hpp).
#pragma once

#include <cstddef>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace weft::report {

/// With a fixed number of decimals; the unit stands behind it for people, and is left out for programs.
struct Number {
  double value = 0;
  int decimals = 0;
  std::string_view unit = "";
  bool has_sign = false;  ///< also of positive numbers
};
struct Interval {
  double low = 0, high = 0;
  int decimals = 0;
};
using Cell = std::variant<std::string, Number, Interval>;

template <class Integer>
Number count(Integer value) {
  return {.value = static_cast<double>(value)};
}
inline Number ratio(double value) { return {value, 3, "x"}; }
inline Number percent(double share, int decimals = 0) { return {100 * share, decimals, " %"}; }
/// "+3.1 %": of a relative error.
inline Number error(double share) { return {100 * share, 1, " %", true}; }

/// As people read it.
std::string text_of(const Cell& cell);

/// Columns of the least importance are left out first where a table is wider than the terminal.
struct Column {
  static constexpr int always_shown = 100;
  Column(const char* column_name, int its_importance = always_shown) : name(column_name), importance(its_importance) {}
  Column(std::string column_name, int its_importance = always_shown)
      : name(std::move(column_name)), importance(its_importance) {}

  std::string name;
  int importance;
};

inline Column droppable(std::string name, int importance) { return {std::move(name), importance}; }

/// Every row has a cell for each column.
struct Table {
  std::vector<Column> columns = {};
  std::vector<std::vector<Cell>> rows = {};
};

/// A column without words other than "-": numbers stand to the right.
bool is_numeric(const Table& table, std::size_t column);

/// A table with a line above it and sentences below it; each may be missing.
struct Section {
  std::string heading = {};
  Table table = {};
  std::vector<std::string> notes = {};
};

/// What programs read of a report: fixed once made, and shared by copies.
class Document {
 public:
  Document() = default;
  Document(nlohmann::ordered_json json);  // NOLINT(google-explicit-constructor): a document is its JSON

  /// Null where there is none.
  const nlohmann::ordered_json* json() const { return json_.get(); }

 private:
  std::shared_ptr<const nlohmann::ordered_json> json_;
};

struct Report {
  std::size_t columns = 0;  ///< that text has at most, however wide the terminal is; 0: no limit
  std::string title = {};
  std::vector<Section> sections = {};
  std::vector<std::string> notes = {};  ///< about all sections
  Document document = {};               ///< the same for programs, keys with units; none: the sections as they are
  Table rows = {};                      ///< what CSV holds: one table of everything; without columns: the sections'
};

}  // namespace weft::report
