// Small integers in place of floating-point numbers: their sums are exact in any order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace weft::sim::meaning {

/// What nobody has written yet, or somebody is writing right now. Whatever is computed from it is undefined, too.
inline constexpr std::int64_t undefined = std::numeric_limits<std::int64_t>::min();

constexpr std::int64_t sum_of(std::int64_t a, std::int64_t b) {
  return a == undefined || b == undefined ? undefined : a + b;
}

/// Row after row.
struct IntegerMatrix {
  std::int64_t rows = 0, columns = 0;
  std::vector<std::int64_t> values;

  IntegerMatrix() = default;
  IntegerMatrix(std::int64_t row_count, std::int64_t column_count, std::int64_t value = undefined)
      : rows(row_count), columns(column_count), values(static_cast<std::size_t>(row_count * column_count), value) {}

  std::int64_t* row(std::int64_t index) { return values.data() + index * columns; }
  const std::int64_t* row(std::int64_t index) const { return values.data() + index * columns; }
  std::int64_t& at(std::int64_t row_index, std::int64_t column) { return row(row_index)[column]; }
  std::int64_t at(std::int64_t row_index, std::int64_t column) const { return row(row_index)[column]; }
  bool row_is_defined(std::int64_t index) const {
    return std::find(row(index), row(index) + columns, undefined) == row(index) + columns;
  }
  bool operator==(const IntegerMatrix&) const = default;
};

}  // namespace weft::sim::meaning
