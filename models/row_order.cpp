#include "models/row_order.hpp"

namespace weft {
namespace {

using GemmPlace = ResultForm::GemmPlace;

std::optional<CollectiveKind> collective_named(std::string_view word) {
  for (const auto& [kind, name] : NamesOf<CollectiveKind>::names)
    if (name == word) return kind;
  return std::nullopt;
}

}  // namespace

std::optional<ResultForm> result_form(std::string_view op) {
  if (op == "gemm") return ResultForm{GemmPlace::before, std::nullopt};
  if (const auto alone = collective_named(op)) return ResultForm{GemmPlace::none, alone};
  const auto plus = op.find('+');
  if (plus == std::string_view::npos) return std::nullopt;
  const std::string_view first = op.substr(0, plus), second = op.substr(plus + 1);
  const auto collective = collective_named(first == "gemm" ? second : first);
  if (!collective) return std::nullopt;
  if (first == "gemm") return ResultForm{GemmPlace::before, collective};
  if (second == "gemm") return ResultForm{GemmPlace::after, collective};
  return std::nullopt;
}

bool RowOrder::divides() const {
  if (!collective || collective == CollectiveKind::all_reduce) return true;
  return rows % (std::int64_t{chunks} * ranks) == 0;
}

std::int64_t RowOrder::input_rows() const { return collective == CollectiveKind::all_gather ? rows / ranks : rows; }

std::int64_t RowOrder::result_rows() const {
  return collective == CollectiveKind::reduce_scatter ? rows / ranks : rows;
}

std::vector<RowSource> RowOrder::sources(int rank, std::int64_t row) const {
  if (!collective) return {{rank, row}};
  std::vector<RowSource> all;
  const auto from_every_rank = [&](std::int64_t source_row) {
    for (int source = 0; source < ranks; ++source) all.push_back({source, source_row});
    return all;
  };
  if (collective == CollectiveKind::all_reduce) return from_every_rank(row);
  const std::int64_t chunk_rows = rows / chunks, block_rows = chunk_rows / ranks;
  const std::int64_t offset = row % block_rows;  // q
  if (collective == CollectiveKind::reduce_scatter)
    return from_every_rank(row / block_rows * chunk_rows + rank * block_rows + offset);
  if (own_rows_first) row = (row + rank * (rows / ranks)) % rows;
  const std::int64_t chunk = row / chunk_rows;
  const int source = static_cast<int>(row % chunk_rows / block_rows);
  if (collective == CollectiveKind::all_gather) return {{source, chunk * block_rows + offset}};
  return {{source, chunk * chunk_rows + rank * block_rows + offset}};
}

}  // namespace weft
