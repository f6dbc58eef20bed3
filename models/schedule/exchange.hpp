// What a grouped exchange and the parts of distributed attention amount to: bytes of each pair of ranks, pairs of query
// and key.
#pragma once

#include "models/schedule/schedule.hpp"

namespace weft {

/// From rank `source` to rank `destination`, logarithms of sums included.
Bytes pair_bytes(const GroupedExchange& exchange, int source, int destination, const Schedule& schedule);

/// The most that leaves or enters any rank.
double busiest_port_bytes(const GroupedExchange& exchange, const Schedule& schedule);

/// Send buffer of each rank of the all-to-all whose ports carry as much as the busiest one of this exchange.
Bytes equal_all_to_all_bytes(const GroupedExchange& exchange, const Schedule& schedule);

/// Pairs of a query and a key that it sees.
std::int64_t area(const AttentionPart& part);

/// Tensor operations of one rank: two products of head_dim for each head and each query and key.
Flops flops_of(const PartialAttention& attention, int rank);

/// Of the rank that has most to do.
Flops most_flops_of(const PartialAttention& attention);

}  // namespace weft
