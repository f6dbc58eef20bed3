// Tables as text.
#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace weft::tools::report {

/// Columns are as wide as their widest cell. A column whose cells are all numbers is set to the right.
class Table {
 public:
  explicit Table(std::vector<std::string> header) : rows_{std::move(header)} {}

  /// As many cells as the header has.
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

  friend std::ostream& operator<<(std::ostream& out, const Table& table);

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace weft::tools::report
