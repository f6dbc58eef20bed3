#include "scenarios/expert_rows.hpp"

#include <algorithm>

#include "models/base/division.hpp"

namespace weft::scenarios {

namespace {

/// By repeated squares, which are the same bits everywhere.
double power_of(double base, std::int64_t exponent) {
  double value = 1;
  for (; exponent > 0; exponent /= 2, base *= base)
    if (exponent % 2 == 1) value *= base;
  return value;
}

/// Experts that some token goes to. By chance each is left out by a token with probability 1 - experts_per_token /
/// experts: the expected number, rounded.
std::int64_t chosen_experts(std::int64_t tokens, const LayerWorkload& layer) {
  if (layer.expert_choice == ExpertChoice::even) return layer.experts;
  const auto experts = static_cast<double>(layer.experts);
  const double left_out = 1 - static_cast<double>(layer.experts_per_token) / experts;
  const auto chosen = static_cast<std::int64_t>(experts * (1 - power_of(left_out, tokens)) + 0.5);
  return std::max(chosen, layer.experts_per_token);
}

}  // namespace

std::vector<std::int64_t> expert_rows(std::int64_t tokens, const LayerWorkload& layer) {
  const std::int64_t rows = tokens * layer.experts_per_token, chosen = chosen_experts(tokens, layer);
  const double mean = static_cast<double>(rows) / static_cast<double>(chosen);
  const auto busiest = static_cast<std::int64_t>(mean * layer.expert_imbalance + 0.5);
  const std::int64_t first = layer.expert_imbalance > 1 ? std::min(busiest, tokens) : divided_up(rows, chosen);
  std::vector<std::int64_t> rows_of_each{chosen == 1 ? rows : first};
  for (std::int64_t left = rows - rows_of_each.front(), others = chosen - 1; others > 0; --others) {
    rows_of_each.push_back(divided_up(left, others));
    left -= rows_of_each.back();
  }
  rows_of_each.resize(static_cast<std::size_t>(layer.experts), 0);
  return rows_of_each;
}

}  // namespace weft::scenarios
