#include "models/schedule/row_order.hpp"

#include <algorithm>

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

std::vector<RowSource> RowOrder::sources_of_uneven(int rank, std::int64_t row) const {
  const auto block_of = [&](int other) { return rows_of_rank[static_cast<std::size_t>(other)] / chunks / ranks; };
  if (receivers_differ) {
    std::int64_t before = 0;
    for (int receiver = 0; receiver < rank; ++receiver) before += block_of(receiver);
    return {{static_cast<int>(row / block_of(rank)), before + row % block_of(rank)}};
  }
  const std::int64_t chunk_rows = rows / chunks, chunk = row / chunk_rows;
  const std::int64_t most = *std::max_element(rows_of_rank.begin(), rows_of_rank.end());
  std::int64_t offset = row % chunk_rows;
  int sender = 0;
  for (; offset >= block_of(sender); ++sender) offset -= block_of(sender);
  return {{sender, chunk * (most / chunks) + rank * block_of(sender) + offset}};
}

std::int64_t RowOrder::result_rows_of(int rank) const {
  return receivers_differ ? rows_of_rank[static_cast<std::size_t>(rank)] : result_rows();
}

std::int64_t RowOrder::input_rows() const { return collective == CollectiveKind::all_gather ? rows / ranks : rows; }

std::int64_t RowOrder::result_rows() const {
  return collective == CollectiveKind::reduce_scatter ? rows / ranks : rows;
}

std::vector<RowSource> RowOrder::sources(int rank, std::int64_t row) const {
  if (!collective) return {{rank, row}};
  if (!rows_of_rank.empty()) return sources_of_uneven(rank, row);
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
