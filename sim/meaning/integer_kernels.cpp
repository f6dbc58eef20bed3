#include "sim/meaning/integer_kernels.hpp"

#include <cmath>
#include <functional>
#include <numeric>

namespace weft::sim::meaning {
namespace {

/// Calls `fill(row)` for each row of `output` whose row of `input` is defined; the others stay undefined.
template <class Fill>
void for_defined_rows(const IntegerMatrix& input, Fill fill) {
  for (std::int64_t row = 0; row < input.rows; ++row)
    if (input.row_is_defined(row)) fill(row);
}

}  // namespace

IntegerMatrix sum_of_blocks(const IntegerMatrix& input, std::int64_t rows, const IntegerMatrix* weights) {
  IntegerMatrix total(rows, input.columns, 0);
  for (std::int64_t row = 0; row < input.rows; ++row)
    for (std::int64_t column = 0; column < input.columns; ++column) {
      std::int64_t& sum = total.at(row % rows, column);
      const std::int64_t value = input.at(row, column), weight = weights ? weights->at(row % rows, row / rows) : 1;
      sum = value == undefined || weight == undefined ? undefined : sum_of(sum, weight * value);
    }
  return total;
}

IntegerMatrix rms_norm(const IntegerMatrix& input) {
  IntegerMatrix output(input.rows, input.columns);
  for_defined_rows(input, [&](std::int64_t row) {
    double squares = 0;
    for (std::int64_t column = 0; column < input.columns; ++column) {
      const auto value = static_cast<double>(input.at(row, column));
      squares += value * value;
    }
    const double rms = std::sqrt(squares / static_cast<double>(input.columns));
    for (std::int64_t column = 0; column < input.columns; ++column) {
      const double scaled = rms > 0 ? 16 * static_cast<double>(input.at(row, column)) / rms : 0;
      output.at(row, column) = static_cast<std::int64_t>(std::floor(scaled + 0.5));
    }
  });
  return output;
}

IntegerMatrix gated(const IntegerMatrix& input) {
  const std::int64_t width = input.columns / 2;
  IntegerMatrix output(input.rows, width);
  for_defined_rows(input, [&](std::int64_t row) {
    std::transform(input.row(row), input.row(row) + width, input.row(row) + width, output.row(row),
                   std::multiplies<>{});
  });
  return output;
}

IntegerMatrix rotated(const IntegerMatrix& input, std::int64_t first_row) {
  IntegerMatrix output = input;
  for_defined_rows(input, [&](std::int64_t row) {
    for (std::int64_t column = 0; column + 1 < input.columns; column += 2)
      for (std::int64_t turn = 0; turn < (first_row + row) % 4; ++turn) {
        const std::int64_t x = output.at(row, column);
        output.at(row, column) = -output.at(row, column + 1);
        output.at(row, column + 1) = x;
      }
  });
  return output;
}

IntegerMatrix largest_of_rows(const IntegerMatrix& input, std::int64_t columns) {
  IntegerMatrix output(input.rows, columns);
  for_defined_rows(input, [&](std::int64_t row) {
    std::partial_sort_copy(input.row(row), input.row(row) + input.columns, output.row(row), output.row(row) + columns,
                           std::greater<>{});
  });
  return output;
}

std::int64_t attention_weight(const std::int64_t* query, const std::int64_t* key, std::int64_t columns) {
  return std::inner_product(query, query + columns, key, std::int64_t{0}) % 7;
}

IntegerMatrix attended(const IntegerMatrix& qkv, const Attention& attention) {
  const std::int64_t size = attention.head_dim, prefix = attention.prefix;
  IntegerMatrix output(qkv.rows - prefix, attention.heads * size);
  const auto keys_defined = [&](std::int64_t row) {  // and values; earlier rows bring no queries
    const std::int64_t* first = qkv.row(row) + attention.heads * size;
    return std::find(first, qkv.row(row) + qkv.columns, undefined) == qkv.row(row) + qkv.columns;
  };
  for (std::int64_t row = 0; row < qkv.rows; ++row) {
    if (!keys_defined(row)) break;  // later rows attend to it
    if (row < prefix || !qkv.row_is_defined(row)) continue;
    std::fill_n(output.row(row - prefix), output.columns, 0);
    for (std::int64_t head = 0; head < attention.heads; ++head) {
      const std::int64_t group = head / (attention.heads / attention.kv_heads);
      const std::int64_t* query = qkv.row(row) + head * size;
      for (std::int64_t other = 0; other <= row; ++other) {
        const std::int64_t* key = qkv.row(other) + (attention.heads + group) * size;
        const std::int64_t* value = key + attention.kv_heads * size;
        const std::int64_t weight = attention_weight(query, key, size);
        for (std::int64_t i = 0; i < size; ++i) output.at(row - prefix, head * size + i) += weight * value[i];
      }
    }
  }
  return output;
}

}  // namespace weft::sim::meaning
