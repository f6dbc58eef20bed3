#include "calibration/device/exchange_plan.hpp"

#include <algorithm>
#include <cstddef>

namespace weft::calibration::device {
namespace {

constexpr Bytes octet_bytes = 16;

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

/// The result without the rows before the first and behind the last that something is added to: of a stage's exchange
/// these may be many, and none of them need be read.
void narrow_to_sources(PeerReduce& plan) {
  RowRange span{plan.result.rows.rows, 0};
  std::int64_t end = 0;
  for (int i = 0; i < plan.count; ++i) {
    const RowRange& into = plan.sources[i].into;
    span.first = std::min(span.first, into.first), end = std::max(end, into.first + into.count);
  }
  span.count = std::max<std::int64_t>(0, end - span.first);
  const auto narrow = [&](Matrix& matrix, std::int64_t element_bytes) {
    if (matrix.data == nullptr) return;
    matrix.data = static_cast<std::byte*>(matrix.data) + span.first * matrix.stride * element_bytes;
    matrix.rows = span.count;
  };
  narrow(plan.result.rows, bytes_of(DataType::bf16)), narrow(plan.result.log_sum_exp, bytes_of(DataType::fp32));
  for (int i = 0; i < plan.count; ++i) plan.sources[i].into.first -= span.first;
}

}  // namespace

PeerPulls cast_pulls(const GroupedExchange& cast, int rank, const PeerBuffer& input, void* output, Bytes row_bytes) {
  const auto ranks = static_cast<int>(cast.rows.size());
  PeerPulls pulls;
  for_each_rank_after(rank, ranks, [&](int source) {
    const RowRange& rows = rows_from(cast, source, rank);
    std::int64_t before = 0;
    for (int earlier = 0; earlier < source; ++earlier) before += rows_from(cast, earlier, rank).count;
    pulls.add({after_rows(input.of_rank[source], rows.first, row_bytes),
               static_cast<std::byte*>(output) + before * row_bytes, rows.count * row_bytes / octet_bytes});
  });
  return pulls;
}

PeerReduce peer_reduce(const GroupedExchange& reduce, int rank, const PeerBuffer& input, const PeerBuffer& log_sum_exp,
                       const MergedResult& result) {
  const auto ranks = static_cast<int>(reduce.rows.size());
  PeerReduce plan{.result = result};
  for_each_rank_after(rank, ranks, [&](int source) {
    const RowRange& into = rows_from(reduce, source, rank);
    if (into.count == 0) return;
    std::int64_t before = 0;
    for (int earlier = 0; earlier < rank; ++earlier) before += rows_from(reduce, source, earlier).count;
    auto& from = plan.sources[plan.count++];
    from.rows = after_rows(input.of_rank[source], before, result.rows.columns * bytes_of(DataType::bf16));
    if (log_sum_exp.of_rank[source] != nullptr)
      from.log_sum_exp = static_cast<const float*>(log_sum_exp.of_rank[source]) + before * result.log_sum_exp.columns;
    from.into = into;
  });
  narrow_to_sources(plan);
  return plan;
}

}  // namespace weft::calibration::device
