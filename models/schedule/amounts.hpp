// What operations amount to: bytes of each pair of ranks in a grouped exchange, pairs of query and key in attention,
// sizes of grouped GEMMs, and flops.
#pragma once

#include <algorithm>

#include "models/schedule/schedule.hpp"

namespace weft {

/// Of a GEMM or a copy of which the rank has none, so that there is nothing to launch on it.
bool has_no_rows(const Work& work, int rank, int gpus);

/// Of one rank's part of each, together.
double bytes_of_all(const std::vector<Slice>& slices, const Schedule& schedule);

/// From rank `source` to rank `destination`, logarithms of sums included.
Bytes pair_bytes(const GroupedExchange& exchange, int source, int destination, const Schedule& schedule);

/// What leaves a rank and what enters it.
struct PortBytes {
  double out = 0, in = 0;
  double most() const { return std::max(out, in); }
  double mean() const { return (out + in) / 2; }
};
/// Of the rank that has most to carry one way.
PortBytes busiest_port(const GroupedExchange& exchange, const Schedule& schedule);

/// Send buffer of each rank of the all-to-all whose ports carry as much as the busiest one of this exchange.
Bytes equal_all_to_all_bytes(const GroupedExchange& exchange, const Schedule& schedule);

/// Pairs of a query and a key that it sees.
std::int64_t area(const AttentionPart& part);

struct GroupedSize {
  std::vector<std::int64_t> group_rows;  ///< m of each group; those of 0 rows count for nothing
  std::int64_t n = 0, k = 0;
  std::int64_t rows() const;
  Flops flops() const { return MatrixSize{rows(), n, k}.flops(); }
  bool operator==(const GroupedSize&) const = default;
};
GroupedSize size_of(const GroupedGemm& gemm, int gpus);

/// Of both matrix products for `tokens` queries; a query sees half of its own sequence on average.
Flops flops_of(const Attention& attention, std::int64_t tokens);

/// Of one rank: two products of head_dim for each head and each query and key.
Flops flops_of(const PartialAttention& attention, int rank);

/// Of the rank that has most to do.
Flops most_flops_of(const PartialAttention& attention);

/// Of the tensor cores, on the rank that has most to do; 0 for what does not use them.
Flops tensor_flops(const Work& work, int gpus);

}  // namespace weft
