#include "calibration/device/exchange_plan.hpp"

#include <cstddef>

namespace weft::calibration::device {
namespace {

constexpr std::int64_t octet_bytes = 16;

const void* after_rows(const void* data, std::int64_t rows, std::int64_t row_bytes) {
  return static_cast<const std::byte*>(data) + rows * row_bytes;
}

const RowRange& rows_from(const GroupedExchange& exchange, int source, int destination) {
  return exchange.rows[static_cast<std::size_t>(source)][static_cast<std::size_t>(destination)];
}

/// Calls visit(rank): the next rank first, so that no port is asked by all; itself at the end.
template <class Visit>
void for_each_rank_after(int rank, int ranks, const Visit& visit) {
  for (int place = 1; place <= ranks; ++place) visit((rank + place) % ranks);
}

}  // namespace

PeerPulls cast_pulls(const GroupedExchange& cast, int rank, const PeerBuffer& input, void* output,
                     std::int64_t octets_of_row) {
  const auto ranks = static_cast<int>(cast.rows.size());
  const std::int64_t row_bytes = octets_of_row * octet_bytes;
  PeerPulls pulls;
  for_each_rank_after(rank, ranks, [&](int source) {
    const RowRange& rows = rows_from(cast, source, rank);
    std::int64_t before = 0;
    for (int earlier = 0; earlier < source; ++earlier) before += rows_from(cast, earlier, rank).count;
    pulls.add({after_rows(input.of_rank[source], rows.first, row_bytes),
               static_cast<std::byte*>(output) + before * row_bytes, rows.count * octets_of_row});
  });
  return pulls;
}

PeerReduce peer_reduce(const GroupedExchange& reduce, int rank, const PeerBuffer& input, const PeerBuffer& log_sum_exp,
                       const MergedResult& result) {
  constexpr std::int64_t element_bytes = 2;
  const auto ranks = static_cast<int>(reduce.rows.size());
  PeerReduce plan{.result = result};
  for_each_rank_after(rank, ranks, [&](int source) {
    const RowRange& into = rows_from(reduce, source, rank);
    if (into.count == 0) return;
    std::int64_t before = 0;
    for (int earlier = 0; earlier < rank; ++earlier) before += rows_from(reduce, source, earlier).count;
    auto& from = plan.sources[plan.count++];
    from.rows = after_rows(input.of_rank[source], before, result.rows.columns * element_bytes);
    if (log_sum_exp.of_rank[source] != nullptr)
      from.log_sum_exp = static_cast<const float*>(log_sum_exp.of_rank[source]) + before * result.log_sum_exp.columns;
    from.into = into;
  });
  return plan;
}

}  // namespace weft::calibration::device
