#include "calibration/row_sources.hpp"

namespace weft::calibration {
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
  const std::int64_t chunk_rows = rows / chunks, block_rows = chunk_rows / ranks;
  switch (*collective) {
    case CollectiveKind::all_reduce:
      return from_every_rank(row);
    case CollectiveKind::reduce_scatter:
      return from_every_rank(row / block_rows * chunk_rows + rank * block_rows + row % block_rows);
    case CollectiveKind::all_gather:
      return {{static_cast<int>(row % chunk_rows / block_rows), row / chunk_rows * block_rows + row % block_rows}};
    case CollectiveKind::all_to_all:
      return {{static_cast<int>(row % chunk_rows / block_rows),
               row / chunk_rows * chunk_rows + rank * block_rows + row % block_rows}};
  }
  return all;
}

}  // namespace weft::calibration
