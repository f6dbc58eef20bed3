#include "scenarios/rank_rows.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

#include "models/base/division.hpp"
#include "scenarios/families/operands.hpp"

namespace weft::scenarios {

std::vector<std::int64_t> rows_of_ranks(const PairWorkload& pair, int gpus, std::int64_t unit,
                                        const std::string& derivation) {
  std::vector<std::int64_t> rows{families::rows_of_busiest(pair, unit, derivation)};
  std::int64_t left = (pair.m * gpus - rows.front()) / unit;
  for (int others = gpus - 1; others > 0; --others) {
    const std::int64_t units = divided_up(left, others);
    rows.push_back(units * unit);
    left -= units;
  }
  return rows;
}

bool is_uneven(const std::vector<std::int64_t>& rows_of_rank) {
  return std::adjacent_find(rows_of_rank.begin(), rows_of_rank.end(), std::not_equal_to<>{}) != rows_of_rank.end();
}

std::int64_t rows_before(const std::vector<std::int64_t>& rows_of_rank, int rank) {
  return std::accumulate(rows_of_rank.begin(), rows_of_rank.begin() + rank, std::int64_t{0}) /
         static_cast<std::int64_t>(rows_of_rank.size());
}

}  // namespace weft::scenarios
