#include "scenarios/expert_rows.hpp"

#include <algorithm>

#include "models/base/division.hpp"

namespace weft::scenarios {

std::vector<std::int64_t> expert_rows(std::int64_t tokens, const LayerWorkload& layer) {
  const std::int64_t rows = tokens * layer.experts_per_token;
  const double mean = static_cast<double>(rows) / static_cast<double>(layer.experts);
  const auto busiest = static_cast<std::int64_t>(mean * layer.expert_imbalance + 0.5);
  const std::int64_t first = layer.expert_imbalance > 1 ? std::min(busiest, tokens) : divided_up(rows, layer.experts);
  std::vector<std::int64_t> rows_of_each{layer.experts == 1 ? rows : first};
  for (std::int64_t left = rows - rows_of_each.front(), others = layer.experts - 1; others > 0; --others) {
    rows_of_each.push_back(divided_up(left, others));
    left -= rows_of_each.back();
  }
  return rows_of_each;
}

}  // namespace weft::scenarios
